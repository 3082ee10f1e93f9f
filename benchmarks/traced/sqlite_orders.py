"""Orders go into a database in memory, which is asked, changed and asked again."""

import sqlite3

CUSTOMERS, ORDERS, ROUNDS = 200, 6_000, 4


def main() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("create table orders (id integer primary key, customer, item, price real)")
    database.execute("create index by_customer on orders (customer)")
    for turn in range(ROUNDS):
        rows = [
            (f"customer {i % CUSTOMERS}", f"item {i * (turn + 3) % 997}", i % 1000 / 10)
            for i in range(ORDERS)
        ]
        with database:
            database.executemany(
                "insert into orders (customer, item, price) values (?, ?, ?)", rows
            )
        for customer in range(0, CUSTOMERS, 5):
            question = "select item, sum(price) from orders where customer = ? group by item"
            database.execute(question, (f"customer {customer}",)).fetchall()
        with database:
            database.execute("delete from orders where id % 3 = ?", (turn % 3,))
    database.close()


if __name__ == "__main__":
    main()
