/** Native functions that return another number at each call, by the names that they have in the user's code. */
export const numberCalls = {
  'Math.random': Math.random,
  'Date.now': Date.now,
  'performance.now': performance.now.bind(performance) as () => number,
} as const;

export type NumberCall = keyof typeof numberCalls;

export function isNumberCall(name: unknown): name is NumberCall {
  return typeof name === 'string' && Object.hasOwn(numberCalls, name);
}
