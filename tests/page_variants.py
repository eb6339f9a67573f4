"""Addresses as people, browsers, phones, archives and newsletters write them, by page.

Written for the matching of citations to stored pages, before the rules were finished. Each group is
one page; the pages of different groups, and of ``DISTINCT``, are different ones.
"""

PAGES: dict[str, str] = {
    "en.wikipedia.org/wiki/Ageing_of_Europe": """
        https://en.wikipedia.org/wiki/Ageing_of_Europe
        http://en.wikipedia.org/wiki/Ageing_of_Europe
        https://en.m.wikipedia.org/wiki/Ageing_of_Europe
        https://EN.Wikipedia.ORG/wiki/Ageing_of_Europe
        https://en.wikipedia.org/wiki/Ageing_of_Europe#Causes
        https://en.wikipedia.org/wiki/Ageing_of_Europe/
        https://en.wikipedia.org:443/wiki/Ageing_of_Europe
        https://en.wikipedia.org/wiki/Ageing%5Fof%5FEurope
        https://en.wikipedia.org/wiki/Ageing_of_Europe#:~:text=median%20age
        https://web.archive.org/web/20240102030405/https://en.wikipedia.org/wiki/Ageing_of_Europe
        https://web.archive.org/web/2024*/https://en.wikipedia.org/wiki/Ageing_of_Europe
        https://en.wikipedia.org./wiki/Ageing_of_Europe
    """,
    "en.wikipedia.org/wiki/Matter_(standard)": """
        https://en.wikipedia.org/wiki/Matter_(standard)
        https://en.wikipedia.org/wiki/Matter_%28standard%29
        https://en.m.wikipedia.org/wiki/Matter_%28standard%29#History
        http://en.wikipedia.org//wiki/Matter_(standard)?
        https://en.wikipedia.org/wiki/./Matter_(standard)
    """,
    "zh.wikipedia.org/wiki/%E4%BA%BA%E5%8F%A3%E8%80%81%E5%8C%96": """
        https://zh.wikipedia.org/wiki/人口老化
        https://zh.wikipedia.org/wiki/%E4%BA%BA%E5%8F%A3%E8%80%81%E5%8C%96
        https://zh.wikipedia.org/wiki/%e4%ba%ba%e5%8f%a3%e8%80%81%e5%8c%96
        https://zh.m.wikipedia.org/wiki/人口老化#成因
        http://zh.wikipedia.org/wiki/人口%E8%80%81化/
    """,
    "example.org/report?page=2&year=2024": """
        https://example.org/report?year=2024&page=2
        https://example.org/report?page=2&year=2024
        https://www.example.org/report/?year=2024&page=2
        https://example.org/report?year=2024&page=2&utm_source=news&utm_medium=email
        https://example.org/report?utm_campaign=x&year=2024&page=2&fbclid=IwAR0
        https://example.org/report?year=2024&amp;page=2
        https://example.org/report?year=2024&&page=2&
        https://example.org/report?gclid=a1&year=2024&page=2#tables
        https://user:secret@example.org/report?year=2024&page=2
        http://m.example.org/report?page=2&year=2024&mc_cid=1&mc_eid=2
        https://example.org/report?page=%32&year=2024
    """,
    "example.org": """
        https://example.org
        https://example.org/
        http://www.example.org
        https://example.org/index.html
        https://example.org/index.php
        https://example.org/?utm_source=chatgpt.com
        https://example.org/#top
        HTTP://EXAMPLE.ORG:80/
        https://example.org/./
        https://mobile.example.org/
    """,
    "news.example.com/2024/03/harbour-tunnel-opens": """
        https://news.example.com/2024/03/harbour-tunnel-opens
        https://news.example.com/2024/03/harbour-tunnel-opens/amp
        https://news.example.com/2024/03/harbour-tunnel-opens/amp/
        https://news.example.com/2024/03/harbour-tunnel-opens?amp=1
        https://news.example.com/2024/03/harbour-tunnel-opens?amp
        https://news.example.com/2024/03/harbour-tunnel-opens?outputType=amp
        https://news.example.com/2024/03/harbour-tunnel-opens.amp
        https://news.example.com/amp/2024/03/harbour-tunnel-opens
        https://amp.news.example.com/2024/03/harbour-tunnel-opens
        https://www.google.com/amp/s/news.example.com/2024/03/harbour-tunnel-opens/amp
        https://news-example-com.cdn.ampproject.org/c/s/news.example.com/2024/03/harbour-tunnel-opens
        https://news-example-com.cdn.ampproject.org/v/s/news.example.com/2024/03/harbour-tunnel-opens?amp_js_v=0.1&usqp=mq3
        https://news.example.com/2024/03/harbour-tunnel-opens?spm=a2c.1&scm=1
        https://news.example.com/2024/03/harbour-tunnel-opens?srsltid=AfmB
        https://news.example.com/2024/03/harbour-tunnel-opens?guccounter=1&guce_referrer=a
        https://r.jina.ai/https://news.example.com/2024/03/harbour-tunnel-opens
        https://archive.ph/newest/https://news.example.com/2024/03/harbour-tunnel-opens
        https://archive.is/20240401/https://news.example.com/2024/03/harbour-tunnel-opens
        https://www.google.com/url?sa=t&url=https%3A%2F%2Fnews.example.com%2F2024%2F03%2Fharbour-tunnel-opens&usg=AOv
        https://www.google.com/url?q=https://news.example.com/2024/03/harbour-tunnel-opens&sa=D
        https://l.facebook.com/l.php?u=https%3A%2F%2Fnews.example.com%2F2024%2F03%2Fharbour-tunnel-opens&h=AT0
        https://duckduckgo.com/l/?uddg=https%3A%2F%2Fnews.example.com%2F2024%2F03%2Fharbour-tunnel-opens
        https://webcache.googleusercontent.com/search?q=cache:https://news.example.com/2024/03/harbour-tunnel-opens
    """,
    "news.example.com/story.html": """
        https://news.example.com/story.html
        https://news.example.com/story.amp.html
        https://m.news.example.com/story.html
        https://news.example.com/story.html?at_medium=custom7&at_campaign=64
        https://news.example.com/story.html?ncid=1
        https://news.example.com/story.html;jsessionid=1F2E3D
        https://touch.news.example.com/story.html?xtor=RSS-1
    """,
    "doi.org/10.1177/0956797620939054": """
        https://doi.org/10.1177/0956797620939054
        http://dx.doi.org/10.1177/0956797620939054
        https://journals.sagepub.com/doi/10.1177/0956797620939054
        https://journals.sagepub.com/doi/full/10.1177/0956797620939054
        https://journals.sagepub.com/doi/abs/10.1177/0956797620939054
        https://journals.sagepub.com/doi/pdf/10.1177/0956797620939054
        https://journals.sagepub.com/doi/epub/10.1177/0956797620939054
        https://journals.sagepub.com/doi/abs/10.1177/0956797620939054?journalCode=pssa
        https://www.doi.org/10.1177/0956797620939054
        https://doi.org/10.1177%2F0956797620939054
    """,
    "doi.org/10.1007/s43681-022-00218-9": """
        https://link.springer.com/article/10.1007/s43681-022-00218-9
        https://link.springer.com/content/pdf/10.1007/s43681-022-00218-9.pdf
        https://link.springer.com/article/10.1007/s43681-022-00218-9#Sec3
        https://link.springer.com/article/10.1007/S43681-022-00218-9
        https://doi.org/10.1007/s43681-022-00218-9
        https://link.springer.com/10.1007/s43681-022-00218-9/../../article/10.1007/s43681-022-00218-9
    """,
    "doi.org/10.3389/frai.2021.705164": """
        https://www.frontiersin.org/articles/10.3389/frai.2021.705164/full
        https://www.frontiersin.org/journals/artificial-intelligence/articles/10.3389/frai.2021.705164/full
        https://www.frontiersin.org/articles/10.3389/frai.2021.705164/pdf
        https://www.frontiersin.org/articles/10.3389/frai.2021.705164
        https://doi.org/10.3389/frai.2021.705164
        https://doi.org/10.3389/FRAI.2021.705164
    """,
    "doi.org/10.1002/anie.202100001": """
        https://onlinelibrary.wiley.com/doi/10.1002/anie.202100001
        https://onlinelibrary.wiley.com/doi/full/10.1002/anie.202100001
        https://onlinelibrary.wiley.com/doi/epdf/10.1002/anie.202100001
        https://chemistry.onlinelibrary.wiley.com/doi/abs/10.1002/anie.202100001
        https://onlinelibrary.wiley.com/doi/pdfdirect/10.1002/anie.202100001?download=true
    """,
    "arxiv.org/abs/2407.02710": """
        https://arxiv.org/abs/2407.02710
        http://arxiv.org/abs/2407.02710v1
        https://arxiv.org/pdf/2407.02710
        https://arxiv.org/pdf/2407.02710v3.pdf
        https://arxiv.org/html/2407.02710v1
        https://www.arxiv.org/abs/2407.02710?context=cs.CL
        https://export.arxiv.org/abs/2407.02710
        https://doi.org/10.48550/arXiv.2407.02710
        https://ar5iv.labs.arxiv.org/html/2407.02710
        https://ar5iv.org/abs/2407.02710
        https://arxiv.org/abs/2407.02710#S1
    """,
    "arxiv.org/abs/hep-th/9901001": """
        https://arxiv.org/abs/hep-th/9901001
        https://arxiv.org/pdf/hep-th/9901001v2
        https://arxiv.org/abs/hep-th/9901001v1
        http://arxiv.org/pdf/hep-th/9901001.pdf
    """,
    "pmc.ncbi.nlm.nih.gov/articles/PMC7731274": """
        https://pmc.ncbi.nlm.nih.gov/articles/PMC7731274/
        https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7731274/
        https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7731274
        http://www.ncbi.nlm.nih.gov/pmc/articles/pmc7731274/
        https://pmc.ncbi.nlm.nih.gov/articles/PMC7731274/#S4
        https://pmc.ncbi.nlm.nih.gov/articles/PMC7731274?utm_source=x
    """,
    "pubmed.ncbi.nlm.nih.gov/33326428": """
        https://pubmed.ncbi.nlm.nih.gov/33326428/
        https://www.ncbi.nlm.nih.gov/pubmed/33326428
        http://www.ncbi.nlm.nih.gov/pubmed/33326428/
        https://pubmed.ncbi.nlm.nih.gov/33326428#abstract
    """,
    "youtube.com/watch?v=dQw4w9WgXcQ": """
        https://www.youtube.com/watch?v=dQw4w9WgXcQ
        https://youtu.be/dQw4w9WgXcQ
        https://youtu.be/dQw4w9WgXcQ?t=42
        https://m.youtube.com/watch?v=dQw4w9WgXcQ
        https://www.youtube.com/embed/dQw4w9WgXcQ
        https://www.youtube.com/shorts/dQw4w9WgXcQ
        https://youtube.com/watch?v=dQw4w9WgXcQ&utm_source=share
        https://www.youtube.com/live/dQw4w9WgXcQ?si=abc
    """,
    "x.com/nasa/status/1445800000000000000": """
        https://twitter.com/nasa/status/1445800000000000000
        https://x.com/nasa/status/1445800000000000000
        https://mobile.twitter.com/nasa/status/1445800000000000000
        https://twitter.com/nasa/status/1445800000000000000?ref_src=twsrc%5Etfw
        https://www.twitter.com/nasa/status/1445800000000000000/
        https://twitter.com/nasa/status/1445800000000000000?__twitter_impression=true
    """,
    "reddit.com/r/sqlite/comments/1abc/wal_mode": """
        https://www.reddit.com/r/sqlite/comments/1abc/wal_mode/
        https://old.reddit.com/r/sqlite/comments/1abc/wal_mode
        https://m.reddit.com/r/sqlite/comments/1abc/wal_mode/
        https://np.reddit.com/r/sqlite/comments/1abc/wal_mode
        https://reddit.com/r/sqlite/comments/1abc/wal_mode/?utm_name=iossmf
        https://amp.reddit.com/r/sqlite/comments/1abc/wal_mode/
    """,
    "xn--mnchen-3ya.de/stra%C3%9Fe": """
        https://münchen.de/straße
        https://MÜNCHEN.de/stra%C3%9Fe
        https://xn--mnchen-3ya.de/stra%c3%9fe/
        http://www.münchen.de/straße#karte
    """,
    "shop.example.net/item?id=17": """
        https://shop.example.net/item?id=17
        https://shop.example.net/item?id=17&gad_source=1&gbraid=0AAA
        https://shop.example.net/item?id=17&_gl=1*abc&_ga=2.3
        https://shop.example.net/item?msclkid=9&id=17
        https://shop.example.net/item?id=17&yclid=4&twclid=5&ttclid=6
        https://shop.example.net/item?id=17&_hsenc=p2&_hsmi=8&hsCtaTracking=z
        https://shop.example.net/item?id=17&mkt_tok=NDE
        https://shop.example.net/item?id=17&vero_id=1&oly_enc_id=2
        https://shop.example.net/item?id=17&PHPSESSID=aa
        https://shop.example.net/item?id=17&pk_campaign=a&mtm_source=b
        https://shop.example.net/item?id=17&igshid=1&dclid=2&wbraid=3
    """,
    "docs.example.dev#/guide/install": """
        https://docs.example.dev/#/guide/install
        https://docs.example.dev#/guide/install
        https://docs.example.dev/index.html#/guide/install
        https://docs.example.dev/#/guide/install/
    """,
    "docs.example.dev/a%20b/c~d": """
        https://docs.example.dev/a%20b/c~d
        https://docs.example.dev/a%20b/c%7Ed
        https://docs.example.dev/a%20b/x/../c~d
        https://docs.example.dev//a%20b//c%7ed/
    """,
    "docs.example.dev/search?q=full%20text": """
        https://docs.example.dev/search?q=full+text
        https://docs.example.dev/search?q=full%20text
        https://docs.example.dev/search/?q=full+text&utm_term=z
        https://m.docs.example.dev/search?q=full%20text
    """,
    "api.example.com:8443/v1": """
        https://api.example.com:8443/v1
        https://api.example.com:8443/v1/
        https://API.example.com:8443/v1#a
    """,
    "gov.example.co.uk/a/b": """
        https://gov.example.co.uk/a/b
        https://www.gov.example.co.uk/a/b/
        https://m.gov.example.co.uk/a/b
        https://gov.example.co.uk/a/b?cmpid=1&s_cid=2
        https://gov.example.co.uk/a/c/../b
    """,
    "github.com/pallets/flask/blob/main/README.md": """
        https://github.com/pallets/flask/blob/main/README.md
        https://github.com/pallets/flask/blob/main/README.md#install
        http://www.github.com/pallets/flask/blob/main/README.md
        https://web.archive.org/web/20230101id_/https://github.com/pallets/flask/blob/main/README.md
    """,
    "nature.com/articles/s41586-021-03819-2": """
        https://www.nature.com/articles/s41586-021-03819-2
        http://nature.com/articles/s41586-021-03819-2/
        https://www.nature.com/articles/s41586-021-03819-2#Abs1
        https://web.archive.org/web/20230101000000if_/https://www.nature.com/articles/s41586-021-03819-2
        https://www.nature.com/articles/s41586-021-03819-2?utm_source=x&fbclid=y
    """,
    "medium.example.com/@ann/why-we-moved-to-sqlite-3f2b": """
        https://medium.example.com/@ann/why-we-moved-to-sqlite-3f2b
        https://medium.example.com/%40ann/why-we-moved-to-sqlite-3f2b
        https://medium.example.com/@ann/why-we-moved-to-sqlite-3f2b?utm_content=a&utm_id=2
        https://medium.example.com/@ann/why-we-moved-to-sqlite-3f2b#9a1c
        http://wap.medium.example.com/@ann/why-we-moved-to-sqlite-3f2b
        https://www.youtube.com/redirect?event=x&q=https%3A%2F%2Fmedium.example.com%2F%40ann%2Fwhy-we-moved-to-sqlite-3f2b
    """,
    "stat.example.jp/data/table.aspx?area=13": """
        https://stat.example.jp/data/table.aspx?area=13
        https://stat.example.jp/data/table.aspx?area=%31%33
        https://stat.example.jp/data//table.aspx?area=13&_hsenc=1
        https://stat.example.jp/data/table.aspx;jsessionid=AB?area=13
        https://www.stat.example.jp:443/data/table.aspx?area=13#t2
        https://web.archive.org/web/20220607id_/http://stat.example.jp/data/table.aspx?area=13
    """,
}  # fmt: skip

DISTINCT = """
    https://example.org/report?year=2024&page=3
    https://example.org/report?year=2024
    https://example.org/report
    https://example.org/Report
    https://example.org/item?ref=main
    https://example.org/item?ref=dev
    https://example.org/item?id=1
    https://example.org/item?eid=1
    https://example.org/item?cid=1
    https://example.org/item?source=a
    https://example.org/item?keywords=a
    https://example.org/item?lang=de
    https://sub.example.org/report
    https://www5.example.org/report
    https://m.co.uk/x
    https://m.me/x
    https://t.me/x
    https://example.org/ampere
    https://example.org/amplifiers/amp2
    https://example.org/index
    https://example.org/index.html.gz
    https://docs.example.dev/#/guide/upgrade
    https://docs.example.dev/
    https://example.org:8080/report
    https://example.com/report
    https://doi.org/10.1177/0956797620939055
    https://journals.sagepub.com/home/pss
    https://link.springer.com/article/10.1007/s43681-022-00218-9/figures/1
    https://arxiv.org/abs/2407.02711
    https://arxiv.org/list/cs.CL/recent
    https://arxiv.org/abs/hep-th/9901002
    https://www.youtube.com/watch?v=aQw4w9WgXcQ
    https://www.youtube.com/@nasa
    https://pmc.ncbi.nlm.nih.gov/articles/PMC7731275/
    https://pubmed.ncbi.nlm.nih.gov/33326429/
    https://web.archive.org/web/20240102030405/https://example.org/older
    https://en.wikipedia.org/wiki/Ageing
    https://de.wikipedia.org/wiki/Ageing_of_Europe
    https://example.org/a%2Fb
    https://example.org/a/b
    https://example.org/a?b
    https://example.org/a?b=1
    https://www.google.com/search?q=example
"""
