/** Calls of a method while `run` runs. (A spy would keep what each of a million calls took and gave.) */
export function countCalls<T extends object>(
  prototype: T,
  name: keyof T,
  run: () => unknown,
): number {
  const method = prototype[name] as (this: T, ...args: unknown[]) => unknown;
  let calls = 0;
  prototype[name] = function (this: T, ...args: unknown[]) {
    calls++;
    return method.apply(this, args);
  } as T[keyof T];
  try {
    run();
  } finally {
    prototype[name] = method as T[keyof T];
  }
  return calls;
}
