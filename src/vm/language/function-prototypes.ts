import type { Code } from '../bytecode/code.ts';

const prototypeOf = (fn: object): object => Object.getPrototypeOf(fn) as object;

const generator = prototypeOf(function* () {});
const asyncFunction = prototypeOf(async () => {});
const asyncGenerator = prototypeOf(async function* () {});

/** Returns the prototype of functions of this code. */
export function functionPrototype({ isAsync, isGenerator }: Code): object {
  if (isGenerator) return isAsync ? asyncGenerator : generator;
  return isAsync ? asyncFunction : Function.prototype;
}
