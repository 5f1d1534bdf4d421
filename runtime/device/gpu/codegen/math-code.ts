/**
 * Scalar functions as kernel source. WebGPU leaves NaN, infinities and domain errors to the driver (log(0) is −88
 * on one, max(NaN, 0) is 0 on another), so every case that PyTorch defines is handled explicitly.
 */
import type { BinaryFn, CompareFn, UnaryFn } from '../../../ops/expr/expr.ts';
import type { StageWriter } from './stage-writer.ts';

/** Returns a float32 literal; numbers without a literal are passed as arguments. */
export function numberCode(w: StageWriter, value: number): string {
  const rounded = Math.fround(value);
  if (Number.isNaN(rounded)) return w.nan;
  if (rounded === Infinity) return w.infinity;
  if (rounded === -Infinity) return `(-${w.infinity})`;
  return rounded < 0 || Object.is(rounded, -0) ? `(${literal(rounded)})` : literal(rounded);
}

function literal(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  // For a literal without a fraction, gpu.js infers the type from adjacent operands.
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** True for every number except NaN; `x === x` may be folded to true. */
const isNumber = (x: string) => `(${x}>0.0||${x}<=0.0)`;

const truncated = (x: string) => `(${x}<0.0?-Math.floor(-${x}):Math.floor(${x}))`;

export const unaryCode: { readonly [F in UnaryFn]: (w: StageWriter, x: string) => string } = {
  neg: (_w, x) => `(-${x})`,
  abs: (_w, x) => `Math.abs(${x})`,
  floor: (_w, x) => `Math.floor(${x})`,
  ceil: (_w, x) => `(-Math.floor(-${x}))`,
  trunc: (_w, x) => truncated(x),
  round: (w, x) => {
    const low = w.let(`Math.floor(${x})`);
    const rest = w.let(`${x}-${low}`);
    const half = w.let(`${low}*0.5`);
    const even = w.let(`(Math.floor(${half})===${half}?${low}:${low}+1.0)`);
    const up = w.let(`(${rest}>0.5?${low}+1.0:${low})`);
    return `(${rest}===0.5?${even}:${up})`;
  },
  exp: (w, x) => {
    const y = w.let(`Math.exp(${x})`);
    // Beyond these bounds, float32 results are 0 and Infinity, but drivers saturate at the largest finite number.
    const upper = w.let(`(${x}>88.73?${w.infinity}:${y})`);
    const lower = w.let(`(${x}<-104.0?0.0:${upper})`);
    return `(${isNumber(x)}?${lower}:${x})`;
  },
  exp2: (w, x) => {
    // The integer and fractional parts separately: drivers multiply by ln 2, which rounds.
    const upper = w.let(`(${x}>128.0?128.0:${x})`);
    const clamped = w.let(`(${upper}<-150.0?-150.0:${upper})`);
    const whole = w.let(`Math.floor(${clamped})`);
    const rest = w.let(`${clamped}-${whole}`);
    const power = w.let(`Math.exp(${rest}*${Math.LN2})*Math.pow(2.0,${whole})`);
    const finite = w.let(`(${x}>=128.0?${w.infinity}:${power})`);
    const bounded = w.let(`(${x}<-150.0?0.0:${finite})`);
    return `(${isNumber(x)}?${bounded}:${x})`;
  },
  log2: (w, x) => `${w.let(unaryCode.log(w, x))}*${Math.LOG2E}`,
  sin: (w, x) => sineCode(w, x, 0),
  cos: (w, x) => sineCode(w, x, 1),
  log: (w, x) => {
    const y = w.let(`(${x}>=${w.infinity}?${x}:Math.log(${x}))`);
    const atZero = w.let(`(${x}===0.0?-${w.infinity}:${w.nan})`);
    return `(${x}>0.0?${y}:${atZero})`;
  },
  sqrt: (w, x) => {
    const y = w.let(`(${x}>=${w.infinity}?${x}:Math.sqrt(${x}))`);
    const atZero = w.let(`(${x}===0.0?${x}:${w.nan})`);
    return `(${x}>0.0?${y}:${atZero})`;
  },
  tanh: (w, x) => {
    // Drivers overflow beyond about 44; in float32 the result is 1 from 9.01 on. Near 0 it is a polynomial (Cephes), as
    // in wgsl/math-functions.ts: drivers lose all digits of small numbers, and the sign of -0.
    const upper = w.let(`(${x}>15.0?15.0:${x})`);
    const clamped = w.let(`(${upper}<-15.0?-15.0:${upper})`);
    const z = w.let(`${x}*${x}`);
    const high = `(-0.00570498872745*${z}+0.0206390887954)*${z}-0.0537397155531`;
    const rest = w.let(`((${high})*${z}+0.133314422036)*${z}-0.333332819422`);
    const y = w.let(`(Math.abs(${x})<0.625?${x}*(1.0+${z}*${rest}):Math.tanh(${clamped}))`);
    return `(${isNumber(x)}?${y}:${x})`;
  },
  toInt: (w, x) => {
    const upper = w.let(`(${x}>2147483647.0?2147483647.0:${x})`);
    const clamped = w.let(`(${upper}<-2147483648.0?-2147483648.0:${upper})`);
    return `(${isNumber(x)}?${truncated(clamped)}:0.0)`;
  },
};

export const binaryCode: {
  readonly [F in BinaryFn]: (w: StageWriter, x: string, y: string) => string;
} = {
  add: (_w, x, y) => `(${x}+${y})`,
  sub: (_w, x, y) => `(${x}-${y})`,
  mul: (_w, x, y) => `(${x}*${y})`,
  div: (_w, x, y) => `(${x}/${y})`,
  max: (w, x, y) => chosen(w, x, y, '>'),
  min: (w, x, y) => chosen(w, x, y, '<'),
  pow: (w, x, y) => {
    const size = w.let(`Math.abs(${x})`);
    const power = w.let(`Math.pow(${size},${y})`);
    const whole = w.let(`(Math.floor(${y})===${y}?1.0:0.0)`);
    const half = w.let(`${y}*0.5`);
    const odd = w.let(`(Math.floor(${half})===${half}?0.0:1.0)`);
    const signed = w.let(`(${odd}>0.5?-${power}:${power})`);
    const root = w.let(`(${size}>=${w.infinity}?${power}:${w.nan})`);
    const negative = w.let(`(${whole}>0.5?${signed}:${root})`);
    const zero = w.let(`(${y}<0.0?${w.infinity}:0.0)`);
    const nonPositive = w.let(`(${x}<0.0?${negative}:${zero})`);
    const result = w.let(`(${x}>0.0?${power}:${nonPositive})`);
    const known = w.let(`(${isNumber(y)}?${result}:${y})`);
    const checked = w.let(`(${isNumber(x)}?${known}:${x})`);
    const unit = w.let(`(${x}===1.0?1.0:${checked})`);
    return `(${y}===0.0?1.0:${unit})`;
  },
  rem: (w, x, y) => {
    const { rest } = division(w, x, y);
    const signed = w.let(`(${x}<0.0?-${rest}:${rest})`);
    const size = w.let(`Math.abs(${x})`);
    const byInfinity = w.let(`(${size}<${w.infinity}?${x}:${w.nan})`);
    const defined = w.let(`(Math.abs(${y})>=${w.infinity}?${byInfinity}:${signed})`);
    return `(${y}===0.0?${w.nan}:${defined})`;
  },
  quotient: (w, x, y) => {
    const { whole } = division(w, x, y);
    const signed = w.let(`(${x}*${y}<0.0?-${whole}:${whole})`);
    return `(${y}===0.0?0.0:${signed})`;
  },
};

/** Writes the integer division of the magnitudes, corrected by one, because drivers may be off by one. */
function division(w: StageWriter, x: string, y: string) {
  const [a, b] = [w.let(`Math.abs(${x})`), w.let(`Math.abs(${y})`)];
  const whole = w.let(`Math.floor(${a}/${b})`);
  const rest = w.let(`${a}-${whole}*${b}`);
  w.line(
    `if(${rest}<0.0){${whole}=${whole}-1.0;${rest}=${rest}+${b};}`,
    `if(${rest}>=${b}){${whole}=${whole}+1.0;${rest}=${rest}-${b};}`,
  );
  return { whole, rest };
}

/** As on the CPU (`wasm/sine.ts`); WGSL only guarantees an absolute error of 2^-11. */
function sineCode(w: StageWriter, x: string, shift: 0 | 1): string {
  const turns = w.let(`Math.floor(${x}*${2 / Math.PI}+0.5)`);
  const parts = [1.5703125, 4.837512969970703e-4, 7.549533620476723e-8];
  const r = parts.reduce((rest, part) => w.let(`${rest}-${turns}*${part}`), x);
  const z = w.let(`${r}*${r}`);
  const odd = `((-0.00019515295891*${z}+0.0083321608736)*${z}-0.16666654611)`;
  const sine = w.let(`${odd}*${z}*${r}+${r}`);
  const even = `((0.00002443315711809948*${z}-0.001388731625493765)*${z}+0.04166664568298827)`;
  const cosine = w.let(`(${even}*${z}-0.5)*${z}+1.0`);
  const shifted = w.let(`${turns}+${shift}.0`);
  const quarter = w.let(`${shifted}-4.0*Math.floor(${shifted}*0.25)`);
  const swapped = w.let(`(${quarter}===1.0?${cosine}:${sine})`);
  const value = w.let(`(${quarter}===3.0?${cosine}:${swapped})`);
  const signed = w.let(`(${quarter}>1.5?-${value}:${value})`);
  return `(Math.abs(${x})<${w.infinity}?${signed}:${w.nan})`;
}

/** Returns the larger or smaller operand; NaN if either is NaN. */
function chosen(w: StageWriter, x: string, y: string, sign: '>' | '<'): string {
  const unordered = w.let(`${x}+${y}`);
  const other = w.let(`(${y}${sign}${x}?${y}:${unordered})`);
  return `(${x}${sign}=${y}?${x}:${other})`;
}

/** Writes x to a power known when the kernel is built: integer powers are exact products. */
export function powerCode(w: StageWriter, x: string, exponent: number): string {
  if (exponent === 0) return '1.0';
  if (Number.isInteger(exponent) && Math.abs(exponent) <= 16) {
    const power = wholePower(w, x, Math.abs(exponent));
    return exponent < 0 ? `(1.0/${power})` : power;
  }
  return binaryCode.pow(w, x, numberCode(w, exponent));
}

function wholePower(w: StageWriter, x: string, exponent: number): string {
  if (exponent === 1) return x;
  const half = wholePower(w, x, exponent >> 1);
  const square = w.let(`${half}*${half}`);
  return exponent & 1 ? w.let(`${square}*${x}`) : square;
}

const comparisons: { readonly [F in Exclude<CompareFn, 'ne'>]: string } = {
  eq: '===',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
};

/** 1 or 0. */
export function compareCode(fn: CompareFn, x: string, y: string): string {
  // In SwiftShader, NaN is neither equal nor unequal to anything.
  if (fn === 'ne') return `(${x}===${y}?0.0:1.0)`;
  return `(${x}${comparisons[fn]}${y}?1.0:0.0)`;
}
