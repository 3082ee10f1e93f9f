"""Documents of records are written as JSON, read again and changed."""

import json

DOCUMENTS, RECORDS = 6, 800


def document(number: int) -> list[dict[str, object]]:
    return [
        {
            "id": number * RECORDS + i,
            "name": f"record {i} of {number}",
            "tags": [f"tag{i % 7}", f"tag{i % 11}"],
            "position": {"x": i / 7, "y": number / (i + 1)},
            "note": None if i % 3 else "x" * (i % 200),
        }
        for i in range(RECORDS)
    ]


def main() -> None:
    kept = []
    for number in range(DOCUMENTS):
        text = json.dumps(document(number), indent=number % 3 or None)
        read = json.loads(text)
        for record in read[::5]:
            record["tags"].append(text[: record["id"] % 50])
        kept.append(json.dumps(read[:: number + 2]))
    json.loads(f"[{','.join(kept)}]")


if __name__ == "__main__":
    main()
