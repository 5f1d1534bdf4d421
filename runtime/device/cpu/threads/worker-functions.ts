import { namesInMath, numerics } from '../../../numerics/math.ts';
import { errorFunction } from '../core/double-functions.ts';

/**
 * Functions that generated kernels call where WebAssembly has no instruction, as text for the pool's threads, which
 * load none of our modules (`imported.ts` and `double-functions.ts` define them for the program's own thread). A kernel
 * that calls other functions runs only on the program's thread.
 */

const power = '(x, y) => x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y';

export const functionTexts: Readonly<Record<string, string>> = {
  pow: `(x, y) => y === 3 ? x * x * x : (${power})(x, y)`,
  rem: '(x, y) => x % y',
  sin: 'Math.sin',
  cos: 'Math.cos',
  intPow: `(x, y) => {
    if (y < 0) return x === 1 ? 1 : x === -1 ? (y & 1 ? -1 : 1) : 0;
    let power = 1;
    for (let [square, left] = [x, y]; left > 0; left >>>= 1) {
      if (left & 1) power = Math.imul(power, square);
      square = Math.imul(square, square);
    }
    return power;
  }`,
  intRem: '(x, y) => (x % y) | 0',
  intQuotient: '(x, y) => (x / y) | 0',
  pow64: power,
  rem64: '(x, y) => x % y',
  exp264: '(x) => 2 ** x',
  erf64: '(x) => errorFunction(x, false, Math.exp)',
  erfc64: '(x) => errorFunction(x, true, Math.exp)',
  ...Object.fromEntries(namesInMath.map((name) => [`${name}64`, `Math.${name}`])),
};

/** Functions that every engine computes identically. */
const exact = ['rem', 'rem64', 'intPow', 'intRem', 'intQuotient'];

/** Whether threads have the function: with portable numerics, only those that don't use `Math`. */
export function isInWorkers(name: string): boolean {
  return numerics() === 'default' ? Object.hasOwn(functionTexts, name) : exact.includes(name);
}

export const workerFunctionsText = `((errorFunction) => ({
${Object.entries(functionTexts)
  .map(([name, text]) => `  ${name}: ${text},`)
  .join('\n')}
}))(${errorFunction.toString()})`;
