/** Native functions that return a new number at each call, by their names in user code. */
export const numberCalls = {
  'Math.random': Math.random,
  'Date.now': Date.now,
  'performance.now': performance.now.bind(performance) as () => number,
} as const;

export type NumberCall = keyof typeof numberCalls;

export function isNumberCall(name: unknown): name is NumberCall {
  return typeof name === 'string' && Object.hasOwn(numberCalls, name);
}
