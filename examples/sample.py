"""Make up a small text to try things on, from a handful of sentence patterns; every run gives the same bytes.

python examples/sample.py dump sample-dump.xml.bz2    a MediaWiki dump, compressed as its ending says
python examples/sample.py text corpus.txt             the same articles as plain text
python examples/sample.py medical medical.txt         other articles, some with medical words
python examples/sample.py german korpus.txt           another language
python examples/sample.py articles articles.jsonl     the same articles as JSON lines, each with an id and a year
python examples/sample.py orders orders.csv           the orders of a shop, a row for each thing bought
python examples/sample.py more-orders more.csv        later ones, with things that are new

The text is about countries, animals, music, kitchens and hospitals. It is far too small and too regular for real
vectors, but with it every command in the documentation runs within seconds and without a network.
"""

from __future__ import annotations

import bz2
import json
import random
import sys
from pathlib import Path
from xml.sax.saxutils import escape

Patterns = dict[str, list[str]]
Fillers = dict[str, list[str]]

COUNTRIES = [
    "france paris french", "germany berlin german", "italy rome italian", "spain madrid spanish",
    "sweden stockholm swedish", "poland warsaw polish", "greece athens greek", "hungary budapest hungarian",
    "portugal lisbon portuguese", "norway oslo norwegian",
]  # fmt: skip

ENGLISH: Patterns = {
    "countries": [
        "{capital} is the capital of {country} and its largest city",
        "the {people} government sits in {capital} and rules {country}",
        "many people in {country} speak {people} and live near {capital}",
        "the {people} parliament met in {capital} last year",
        "trains leave {capital} for the border of {country} each morning",
    ],
    "animals": [
        "the {animal} ran across the {field} and ate some {feed}",
        "a farmer keeps one {animal} and feeds it {feed} in the {field}",
        "the young {animal} slept beside its mother in the {field}",
        "every {animal} needs water and fresh {feed}",
    ],
    "music": [
        "she played the {instrument} in a {concert} for the audience",
        "the {instrument} and the orchestra sounded well in the {concert}",
        "he learned the {instrument} as a child and gave a {concert}",
        "a song for the {instrument} opened the {concert}",
    ],
    "kitchen": [
        "cook the {food} with salt and {fat} in a hot pan",
        "we ate {food} with bread and {fat} for dinner",
        "the recipe calls for {food} and a spoon of {fat}",
        "wash the {food} then fry it in {fat}",
    ],
    "hospital": [
        "the {healer} gave the patient some medicine against the {trouble}",
        "a patient with {trouble} came to the hospital and saw a {healer}",
        "medicine helps against {trouble} said the {healer} in the hospital",
        "the {trouble} went away after the patient took the medicine",
    ],
}

ENGLISH_FILLERS: Fillers = {
    "animal": ["horse", "cow", "sheep", "goat", "pig", "donkey"],
    "feed": ["grass", "hay", "oats", "clover"],
    "field": ["meadow", "barn", "field", "stable"],
    "instrument": ["piano", "violin", "flute", "guitar", "trumpet", "cello"],
    "concert": ["concert", "festival", "opera", "recital"],
    "food": ["onions", "potatoes", "carrots", "mushrooms", "beans", "cabbage"],
    "fat": ["butter", "oil", "cream"],
    "healer": ["doctor", "nurse", "surgeon"],
    "trouble": ["fever", "cough", "pain", "infection", "headache"],
}

MEDICAL: Patterns = {
    "medical": [
        "the {healer} gave the patient {drug} against the {trouble}",
        "{drug} helps against {trouble} said the {healer} in the hospital",
        "the patient took {drug} as medicine and the {trouble} went away",
        "a patient with {disease} came to the hospital with {trouble} and saw a {healer}",
        "the {disease} went away after the patient took the medicine",
        "{disease} begins with {trouble} and {trouble}",
    ],
    **ENGLISH,
}

MEDICAL_FILLERS: Fillers = {
    **ENGLISH_FILLERS,
    "drug": ["aspirin", "ibuprofen", "penicillin"],
    "disease": ["influenza", "bronchitis", "measles"],
}

GERMAN: Patterns = {
    "länder": [
        "{capital} ist die Hauptstadt von {country} und die größte Stadt des Landes",
        "Die Regierung von {country} sitzt in {capital}",
        "Viele Menschen in {country} leben in der Nähe von {capital}",
    ],
    "küche": [
        "Wir aßen {food} mit Brot und {fat} zum Abendessen",
        "Man brät die {food} mit Salz und {fat} in einer heißen Pfanne",
        "Für das Gericht braucht man {food} und einen Löffel {fat}",
    ],
}

GERMAN_FILLERS: Fillers = {
    "food": ["Zwiebeln", "Möhren", "Pilze", "Bohnen"],
    "fat": ["Butter", "Öl", "Sahne"],
}

GERMAN_COUNTRIES = [
    "Frankreich Paris", "Österreich Wien", "Dänemark Kopenhagen", "Ungarn Budapest", "Rumänien Bukarest",
]  # fmt: skip

GOODS = [
    ["cornflakes", "muesli", "honey", "jam", "orange juice", "yogurt"],
    ["spaghetti", "tomato sauce", "parmesan", "olive oil", "basil", "garlic"],
    ["flour", "sugar", "baking powder", "eggs", "vanilla", "cocoa"],
    ["beer", "crisps", "salted nuts", "red wine", "cheese", "olives"],
    ["cat food", "dog food", "cat litter", "dog biscuits"],
]
STAPLES = ["milk", "bread", "butter"]
NEW_GOODS = [["oat drink", "granola"], ["gluten-free spaghetti"], [], ["tonic water"], []]


def make_articles(
    patterns: Patterns, fillers: Fillers, countries: list[str], *, number: int, seed: int = 0
) -> list[tuple[str, list[str]]]:
    """Return titles and sentences; each article keeps to one topic and, where it has one, to one country."""
    rng = random.Random(seed)
    articles = []
    for i in range(number):
        topic = rng.choice(list(patterns))
        chosen = dict(
            zip(("country", "capital", "people"), rng.choice(countries or [""]).split(), strict=False)
        )
        sentences = [
            rng.choice(patterns[topic]).format(
                **{name: rng.choice(words) for name, words in fillers.items()}, **chosen
            )
            for _ in range(rng.randrange(8, 16))
        ]
        articles.append((f"{topic.capitalize()} {i + 1}", sentences))
    return articles


def make_text(kind: str) -> str:
    """Return a kind of text, one sentence per line."""
    articles = {
        "text": lambda: make_articles(ENGLISH, ENGLISH_FILLERS, COUNTRIES, number=600),
        "medical": lambda: make_articles(MEDICAL, MEDICAL_FILLERS, COUNTRIES, number=200, seed=1),
        "german": lambda: make_articles(GERMAN, GERMAN_FILLERS, GERMAN_COUNTRIES, number=150),
    }[kind]()
    return "".join(f"{sentence}.\n" for _, sentences in articles for sentence in sentences)


def make_records() -> str:
    """Return the articles of ``text`` as JSON lines; from year to year, more of them are about hospitals."""
    rng = random.Random(2)
    lines = []
    for title, sentences in make_articles(ENGLISH, ENGLISH_FILLERS, COUNTRIES, number=600):
        weights = [1, 2, 3, 4, 5] if title.startswith("Hospital") else [3] * 5
        year = rng.choices(range(2019, 2024), weights)[0]
        text = " ".join(f"{sentence}." for sentence in sentences)
        lines.append(json.dumps({"id": title, "year": year, "text": text}))
    return "".join(f"{line}\n" for line in lines)


def make_orders(*, number: int, seed: int, new: bool = False) -> str:
    """Return orders as a table whose rows are not sorted; each order keeps to one kind of goods, or two."""
    rng = random.Random(seed)
    goods = [old + more for old, more in zip(GOODS, NEW_GOODS, strict=True)] if new else GOODS
    rows = []
    for order in range(1, number + 1):
        wanted = [item for kind in rng.sample(goods, rng.choice([1, 1, 2])) for item in kind]
        bought = rng.sample(wanted, min(len(wanted), rng.randrange(2, 6))) + rng.sample(
            STAPLES, rng.randrange(2)
        )
        rows += [f"{order},{item},{rng.randrange(1, 4)}\n" for item in bought]
    rng.shuffle(rows)
    return "order_id,sku,pieces\n" + "".join(rows)


def make_dump() -> str:
    """Return the articles of ``text`` as a MediaWiki dump, with markup for the extraction to remove."""
    pages = []
    for number, (title, sentences) in enumerate(
        make_articles(ENGLISH, ENGLISH_FILLERS, COUNTRIES, number=600), 1
    ):
        first, *others = [f"{sentence}." for sentence in sentences]
        wikitext = (
            "{{Infobox|name=made up}}\n"
            f"'''{first}'''<ref>A reference that is no part of the text.</ref>\n\n"
            f"== History ==\n{' '.join(others)}\n\n* [[Main page|further articles]]\n\n[[Category:Made up]]"
        )
        pages.append(
            f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id>"
            f"<revision><id>{number}</id><text>{escape(wikitext)}</text></revision></page>"
        )
    body = "\n".join(pages)
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">\n{body}\n</mediawiki>\n'
    )


def main() -> None:
    """Write what the command line asks for."""
    makers = {
        "dump": make_dump,
        "articles": make_records,
        "orders": lambda: make_orders(number=2000, seed=3),
        "more-orders": lambda: make_orders(number=60, seed=4, new=True),
    }
    if len(sys.argv) != 3 or sys.argv[1] not in (*makers, "text", "medical", "german"):
        sys.exit(__doc__)
    kind, path = sys.argv[1], Path(sys.argv[2])
    content = (makers[kind]() if kind in makers else make_text(kind)).encode()
    path.write_bytes(bz2.compress(content) if path.suffix == ".bz2" else content)


if __name__ == "__main__":
    main()
