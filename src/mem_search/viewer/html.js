// Preact and htm as one import.

import { h, render } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

export { h, render };
export * from "./vendor/hooks.mjs";
export const html = htm.bind(h);
