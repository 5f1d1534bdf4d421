/** Map and Set methods that take callbacks. */

type Callback = (this: unknown, value: unknown, key: unknown, all: unknown) => unknown;

export function forEach(this: Map<unknown, unknown>, callback: Callback, self?: unknown): void {
  for (const [key, value] of this.entries()) callback.call(self, value, key, this);
}
