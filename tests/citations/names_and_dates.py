"""The table of names and dates as sources write them, and what they are.

A person is ``particle | family | given | suffix``, an institution or mononym ``=whole``; authors
are separated by `` & ``. A date is its parts.
"""

# ruff: noqa: E501  one row is one line
from __future__ import annotations

NAMES = """
World Health Organization → =World Health Organization
WORLD HEALTH ORGANIZATION → =WORLD HEALTH ORGANIZATION
National Aeronautics and Space Administration → =National Aeronautics and Space Administration
Food and Drug Administration → =Food and Drug Administration
Food and Agriculture Organization → =Food and Agriculture Organization
Department of Health and Human Services → =Department of Health and Human Services
Department for Business, Energy and Industrial Strategy → =Department for Business, Energy and Industrial Strategy
Bureau of Alcohol, Tobacco, Firearms and Explosives → =Bureau of Alcohol, Tobacco, Firearms and Explosives
Centers for Disease Control and Prevention → =Centers for Disease Control and Prevention
Institute of Electrical and Electronics Engineers → =Institute of Electrical and Electronics Engineers
Society for Industrial and Applied Mathematics → =Society for Industrial and Applied Mathematics
University of California, Los Angeles → =University of California, Los Angeles
Department of Physics, University of Oxford → =Department of Physics, University of Oxford
Massachusetts Institute of Technology → =Massachusetts Institute of Technology
European Space Agency → =European Space Agency
United Nations → =United Nations
International Energy Agency → =International Energy Agency
Amnesty International → =Amnesty International
British Broadcasting Corporation → =British Broadcasting Corporation
Royal Society → =Royal Society
Max-Planck-Institut für Informatik → =Max-Planck-Institut für Informatik
Universidad de Chile → =Universidad de Chile
Médecins Sans Frontières → =Médecins Sans Frontières
Procter & Gamble → =Procter & Gamble
Simon & Schuster → =Simon & Schuster
Ernst & Young → =Ernst & Young
AT&T → =AT&T
Acme Widgets, Inc. → =Acme Widgets, Inc.
Siemens AG → =Siemens AG
Google UK → =Google UK
Stanford NLP → =Stanford NLP
NASA JPL → =NASA JPL
IBM Research → =IBM Research
The Rust Project Developers → =The Rust Project Developers
The New York Times → =The New York Times
Washington Post → =Washington Post
GitHub Copilot → =GitHub Copilot
OpenAI → =OpenAI
dependabot[bot] → =dependabot[bot]
weekly status update → =weekly status update
University of Oxford and University of Cambridge → =University of Oxford & =University of Cambridge
Massachusetts Institute of Technology and Harvard University → =Massachusetts Institute of Technology & =Harvard University
World Health Organization; United Nations → =World Health Organization & =United Nations
World Health Organization and Ada Lovelace → =World Health Organization & |Lovelace|Ada|
Ada Lovelace and World Health Organization → |Lovelace|Ada| & =World Health Organization
Ada Lovelace, Alan Turing, World Health Organization → |Lovelace|Ada| & |Turing|Alan| & =World Health Organization
Ada Lovelace, University of London → =Ada Lovelace, University of London
Ada Lovelace → |Lovelace|Ada|
Lovelace, Ada → |Lovelace|Ada|
By Ada Lovelace → |Lovelace|Ada|
Dr. Ada Lovelace → |Lovelace|Ada|
Prof. Dr. Ada Lovelace → |Lovelace|Ada|
Ada Lovelace, PhD → |Lovelace|Ada|
Ada Lovelace (ed.) → |Lovelace|Ada|
Ursula K. Le Guin → |Le Guin|Ursula K.|
Le Guin, Ursula K. → |Le Guin|Ursula K.|
Le Guin → |Le Guin||
Jan van der Berg → van der|Berg|Jan|
van der Berg, Jan → van der|Berg|Jan|
VAN DER BERG, Jan → van der|Berg|Jan|
Juan de la Cruz → de la|Cruz|Juan|
de la Cruz, Juan → de la|Cruz|Juan|
DE LA CRUZ, Juan → de la|Cruz|Juan|
John von Neumann → von|Neumann|John|
von Neumann, John → von|Neumann|John|
von Neumann → von|Neumann||
JOHN VON NEUMANN → von|Neumann|John|
Ludwig van Beethoven → van|Beethoven|Ludwig|
Guido van Rossum → van|Rossum|Guido|
Leonardo da Vinci → da|Vinci|Leonardo|
Charles de Gaulle → de|Gaulle|Charles|
Antoine de Saint-Exupéry → de|Saint-Exupéry|Antoine|
Gerard 't Hooft → 't|Hooft|Gerard|
Ludwig Mies van der Rohe → van der|Rohe|Ludwig Mies|
Miguel de Cervantes Saavedra → de|Cervantes Saavedra|Miguel|
José Ortega y Gasset → |Ortega y Gasset|José|
Ortega y Gasset, José → |Ortega y Gasset|José|
Santiago Ramón y Cajal → |Ramón y Cajal|Santiago|
Jean le Rond d'Alembert → |d'Alembert|Jean le Rond|
Robert De Niro → |De Niro|Robert|
W. E. B. Du Bois → |Du Bois|W. E. B.|
Martin Van Buren → |Van Buren|Martin|
Van Morrison → |Morrison|Van|
Al Gore → |Gore|Al|
Martin Luther King Jr. → |King|Martin Luther|Jr.
Martin Luther King, Jr. → |King|Martin Luther|Jr.
King, Martin Luther, Jr. → |King|Martin Luther|Jr.
William Gates III → |Gates|William|III
Gates, William, III → |Gates|William|III
Sammy Davis Jr → |Davis|Sammy|Jr
Ada Lovelace, Alan Turing → |Lovelace|Ada| & |Turing|Alan|
Ada Lovelace and Alan Turing → |Lovelace|Ada| & |Turing|Alan|
Ada Lovelace, Alan Turing and Grace Hopper → |Lovelace|Ada| & |Turing|Alan| & |Hopper|Grace|
Ada Lovelace, Alan Turing, and Grace Hopper → |Lovelace|Ada| & |Turing|Alan| & |Hopper|Grace|
Lovelace, Ada, and Alan Turing → |Lovelace|Ada| & |Turing|Alan|
Lovelace, Ada, Alan Turing, and Grace Hopper → |Lovelace|Ada| & |Turing|Alan| & |Hopper|Grace|
Ada Lovelace, Martin King, Jr., Alan Turing → |Lovelace|Ada| & |King|Martin|Jr. & |Turing|Alan|
Ada Lovelace, PhD, Alan Turing, MD → |Lovelace|Ada| & |Turing|Alan|
Smith, J.; Doe, A. → |Smith|J.| & |Doe|A.|
Smith, J. and Doe, A. → |Smith|J.| & |Doe|A.|
Smith, J., & Doe, A. → |Smith|J.| & |Doe|A.|
Smith, J., Doe, A. B., & Roe, C. → |Smith|J.| & |Doe|A. B.| & |Roe|C.|
Smith J, Doe AB, van der Berg JK → |Smith|J.| & |Doe|A. B.| & van der|Berg|J. K.|
Smith JA → |Smith|J. A.|
Lovelace A., Turing A. → |Lovelace|A.| & |Turing|A.|
Lovelace, Ada, Turing, Alan → =Lovelace, Ada, Turing, Alan
Smith et al. → =Smith & =et al.
Smith, J. et al. → |Smith|J.| & =et al.
Lovelace, Ada, et al. → |Lovelace|Ada| & =et al.
Ada Lovelace, Alan Turing et al → |Lovelace|Ada| & |Turing|Alan| & =et al.
Ada Lovelace and others → |Lovelace|Ada| & =et al.
ADA LOVELACE → |Lovelace|Ada|
SMITH, John → |Smith|John|
John SMITH → |Smith|John|
O'BRIEN, Pat → |O'Brien|Pat|
MCDONALD, Ann → |McDonald|Ann|
Ronald McDonald → |McDonald|Ronald|
J. R. R. Tolkien → |Tolkien|J. R. R.|
J.R.R. Tolkien → |Tolkien|J.R.R.|
Tolkien, J. R. R. → |Tolkien|J. R. R.|
William H. Press → |Press|William H.|
Press, William H. → |Press|William H.|
Court, Margaret → |Court|Margaret|
Jean-Paul O’Brien → |O’Brien|Jean-Paul|
Renée Müller → |Müller|Renée|
Лев Толстой → |Толстой|Лев|
Plato → =Plato
Madonna → =Madonna
bell hooks → =bell hooks
claude → =claude
李小龙 → =李小龙
山田 太郎 → =山田 太郎
山田太郎、鈴木花子 → =山田太郎 & =鈴木花子
김 철수 → =김 철수
Ada Lovelace <ada@example.org> → |Lovelace|Ada|
"Lovelace, Ada" <ada@example.org>, Alan Turing <alan@example.org> → |Lovelace|Ada| & |Turing|Alan|
World Health Organization <who@example.org> → =World Health Organization
Ada Lovelace (ada@example.org) → |Lovelace|Ada|
ada@example.org → =ada@example.org
"""

DATES: tuple[tuple[object, tuple[int, ...]], ...] = (
    ("2024", (2024,)),
    (2024, (2024,)),
    ("1984", (1984,)),
    (" 2024 ", (2024,)),
    ("2024-02", (2024, 2)),
    ("2024/02", (2024, 2)),
    ("2024-2", (2024, 2)),
    ("02/2024", (2024, 2)),
    ("February 2024", (2024, 2)),
    ("february, 2024", (2024, 2)),
    ("Feb 2024", (2024, 2)),
    ("Feb. 2024", (2024, 2)),
    ("Sept. 2024", (2024, 9)),
    ("2024 May", (2024, 5)),
    ("2024-02-01", (2024, 2, 1)),
    ("2024/02/01", (2024, 2, 1)),
    ("2024-02-01T10:00:00Z", (2024, 2, 1)),
    ("February 1, 2024", (2024, 2, 1)),
    ("Feb 1st, 2024", (2024, 2, 1)),
    ("1 February 2024", (2024, 2, 1)),
    ("1. Feb 2024", (2024, 2, 1)),
    ("2024 Feb 1", (2024, 2, 1)),
    ("Thu, 1 Feb 2024 10:00:00 +0000", (2024, 2, 1)),
    ("spring 2024", ()),
    ("2024-13", ()),
    ("13/2024", ()),
    ("February 30, 2024", ()),
    ("02/01/2024", ()),
    ("Foo 2024", ()),
    ("0024", ()),
    (20240201, ()),
    (24, ()),
    (True, ()),
    (2024.5, ()),
)
