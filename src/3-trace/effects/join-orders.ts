/** Returns an order that contains each given order as a subsequence; undefined if there is none. */
export function joinOrders(orders: readonly (readonly string[])[]): string[] | undefined {
  const rest = orders.map((order) => [...order]);
  const joined: string[] = [];
  for (;;) {
    const heads = rest.flatMap(([head]) => (head === undefined ? [] : [head]));
    if (heads.length === 0) return joined;
    const next = heads.find((head) => rest.every((order) => order.indexOf(head) <= 0));
    if (next === undefined) return undefined;
    joined.push(next);
    for (const order of rest) if (order[0] === next) order.shift();
  }
}
