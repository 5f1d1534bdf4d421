/** Compiles user kernels to gpu.js source: over flat arrays, with the operands' layouts baked in. */

import {
  axisSizes,
  isSurelyInside,
  type KernelCode,
  type KernelCompareFn,
  type KernelNumber,
  type KernelStatement,
  type KernelTest,
  type KernelUnaryFn,
} from '../../kernel-code.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, type KernelPlan, output, singleStage } from '../core/kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import { binaryCode, numberCode, unaryCode } from './math-code.ts';
import { type ArrayRef, StageWriter, thread } from './stage-writer.ts';

/** One thread per element of the result. */
export function userKernelPlan(
  code: KernelCode,
  inputs: readonly TensorMeta[],
  out: TensorMeta,
): KernelPlan {
  const w = new StageWriter();
  const arrays = inputs.map((_, i) => (code.ranks[i] === null ? null : w.array(input(i))));
  const result = new Writer(w, inputs, arrays, out).write(code);
  return singleStage(w.into(output(0), out, result));
}

/** The iteration limit of loops in a kernel: beyond it, float32 can't count. */
const mostIterations = 1 << 24;

const axisNames = ['threadX', 'threadY', 'threadZ'] as const;

const signs: { readonly [F in Exclude<KernelCompareFn, 'ne'>]: string } = {
  eq: '===',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
};

class Writer {
  readonly #w: StageWriter;
  readonly #inputs: readonly TensorMeta[];
  readonly #arrays: readonly (ArrayRef | null)[];
  readonly #sizes: readonly [number, number, number];

  constructor(
    w: StageWriter,
    inputs: readonly TensorMeta[],
    arrays: readonly (ArrayRef | null)[],
    out: TensorMeta,
  ) {
    this.#w = w;
    this.#inputs = inputs;
    this.#arrays = arrays;
    this.#sizes = axisSizes(out.shape);
  }

  /** Returns the variable with the result: a GPU function has a single exit. */
  write({ body, locals }: KernelCode): string {
    const w = this.#w;
    const [x, y] = this.#sizes;
    const [xName, yName, zName] = axisNames;
    w.line(...divisionCode(thread, Math.max(1, x), 'threadRow', xName));
    w.line(...divisionCode('threadRow', Math.max(1, y), zName, yName));
    for (let id = 0; id < locals; id++) w.line(`let ${local(id)}=0.0;`);
    w.line('let returned=0.0;', 'let result=0.0;');
    this.#block(body, false);
    return 'result';
  }

  /** Writes statements that are skipped in threads that have returned. */
  #block(statements: readonly KernelStatement[], inLoop: boolean): void {
    const w = this.#w;
    let open = 0;
    statements.forEach((statement, i) => {
      this.#statement(statement, inLoop);
      const isLast = i === statements.length - 1;
      // A return inside a loop exits the loop.
      if (isLast || inLoop || !mayReturn(statement)) return;
      w.line('if(returned<0.5){');
      open++;
    });
    for (; open > 0; open--) w.line('}');
  }

  #statement(statement: KernelStatement, inLoop: boolean): void {
    const w = this.#w;
    switch (statement.kind) {
      case 'set':
        w.line(`${local(statement.id)}=${this.#number(statement.value)};`);
        return;
      case 'if': {
        w.line(`if(${this.#test(statement.test)}){`);
        this.#block(statement.yes, inLoop);
        if (statement.no.length > 0) {
          w.line('}else{');
          this.#block(statement.no, inLoop);
        }
        w.line('}');
        return;
      }
      case 'loop':
        this.#loop(statement, inLoop);
        return;
      case 'break':
        w.line('break;');
        return;
      case 'continue':
        w.line('continue;');
        return;
      case 'return':
        w.line(`result=${this.#number(statement.value)};`, 'returned=1.0;');
        if (inLoop) w.line('break;');
        return;
    }
  }

  /** The test and the update may take several lines, so they are in the loop body. */
  #loop(loop: Extract<KernelStatement, { kind: 'loop' }>, inLoop: boolean): void {
    const w = this.#w;
    const [counter, later] = [w.name(), w.name()];
    w.line(`let ${later}=0.0;`);
    w.line(`for(let ${counter}=0;${counter}<${mostIterations};${counter}++){`);
    if (loop.update.length > 0) {
      w.line(`if(${later}>0.5){`);
      this.#block(loop.update, true);
      w.line('}');
    }
    if (!loop.testFirst) w.line(`if(${later}>0.5){`);
    this.#breakUnless(loop.test);
    if (!loop.testFirst) w.line('}');
    w.line(`${later}=1.0;`);
    this.#block(loop.body, true);
    w.line('}');
    if (inLoop && mayReturn(loop)) w.line('if(returned>0.5){break;}');
  }

  #breakUnless(test: KernelTest): void {
    if (test.kind === 'always' && test.value) return;
    this.#w.line(`if(${this.#test({ kind: 'not', x: test })}){break;}`);
  }

  /** Returns a name or a literal, so that repeated uses don't repeat the computation. */
  #number(number: KernelNumber): string {
    const w = this.#w;
    switch (number.kind) {
      case 'number':
        return numberCode(w, number.value);
      case 'thread':
        return axisNames[number.axis];
      case 'size':
        return numberCode(w, this.#sizes[number.axis]);
      case 'local':
        return local(number.id);
      case 'element':
        return this.#element(number.input, number.at);
      case 'unary': {
        const x = w.let(this.#number(number.x));
        return w.let(this.#unary(number.fn, x));
      }
      case 'binary': {
        const [x, y] = [w.let(this.#number(number.x)), w.let(this.#number(number.y))];
        if (number.fn === 'atan2') return w.let(`Math.atan2(${x},${y})`);
        return w.let(binaryCode[number.fn](w, x, y));
      }
      case 'choose': {
        const [yes, no] = [w.let(this.#number(number.yes)), w.let(this.#number(number.no))];
        return w.let(`(${this.#test(number.test)}?${yes}:${no})`);
      }
    }
  }

  #unary(fn: KernelUnaryFn, x: string): string {
    const w = this.#w;
    if (isNative(fn)) return `Math.${fn}(${x})`;
    if (fn === 'log10') return `${w.let(unaryCode.log(w, x))}*${Math.LOG10E}`;
    if (fn === 'log1p' || fn === 'expm1') return this.#nearZero(fn, x);
    if (fn === 'sign') return `(${x}>0.0?1.0:${w.let(`(${x}<0.0?-1.0:${x})`)})`;
    if (fn !== 'round') return unaryCode[fn](w, x);
    const low = w.let(`Math.floor(${x})`);
    return `(${x}-${low}>=0.5?${low}+1.0:${low})`;
  }

  /** Uses a series near 0, where drivers lose precision. */
  #nearZero(fn: 'log1p' | 'expm1', x: string): string {
    const w = this.#w;
    const far =
      fn === 'log1p'
        ? w.let(unaryCode.log(w, w.let(`1.0+${x}`)))
        : w.let(`${w.let(unaryCode.exp(w, x))}-1.0`);
    let near = '1.0';
    if (fn === 'log1p') {
      // 2 · atanh(s)
      const s = w.let(`${x}/(2.0+${x})`);
      const square = w.let(`${s}*${s}`);
      near = w.let(`${1 / 11}`);
      for (const odd of [9, 7, 5, 3, 1])
        near = w.let(`${near}*${square}+${numberCode(w, 1 / odd)}`);
      near = w.let(`2.0*${s}*${near}`);
    } else {
      for (let k = 9; k > 1; k--) near = w.let(`1.0+${x}/${k}.0*${near}`);
      near = w.let(`${x}*${near}`);
    }
    return `(Math.abs(${x})<0.4?${near}:${far})`;
  }

  #element(input: number, at: readonly KernelNumber[]): string {
    const w = this.#w;
    const { shape, strides } = this.#inputs[input]!;
    const terms: string[] = [];
    const inside: string[] = [];
    at.forEach((index, d) => {
      const value = this.#number(index);
      const size = shape[d]!;
      const isInside = isSurelyInside(index, size, this.#sizes);
      const whole = isInside ? value : w.let(`Math.floor(${value})`);
      if (!isInside) inside.push(`${whole}>=0.0`, `${whole}<${size}.0`);
      terms.push(`${whole}*${strides[d]}.0`);
    });
    const place = w.let(terms.join('+') || '0.0');
    const value = w.let(this.#arrays[input]!.at(place));
    return inside.length === 0 ? value : w.let(`((${inside.join('&&')})?${value}:${w.nan})`);
  }

  #test(test: KernelTest): string {
    const w = this.#w;
    switch (test.kind) {
      case 'always':
        return test.value ? '(1.0>0.0)' : '(1.0<0.0)';
      case 'compare': {
        const [x, y] = [w.let(this.#number(test.x)), w.let(this.#number(test.y))];
        // In SwiftShader, NaN is neither equal nor unequal to anything.
        if (test.fn === 'ne') return `(${w.let(`(${x}===${y}?0.0:1.0)`)}>0.5)`;
        return `(${x}${signs[test.fn]}${y})`;
      }
      case 'both':
        return `(${this.#test(test.x)}&&${this.#test(test.y)})`;
      case 'either':
        return `(${this.#test(test.x)}||${this.#test(test.y)})`;
      case 'not':
        return `(${w.let(`(${this.#test(test.x)}?0.0:1.0)`)}>0.5)`;
    }
  }
}

/** Functions built into WGSL; their special values are up to the driver. */
const native = ['acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'cosh', 'sinh', 'tan'] as const;

type Native = (typeof native)[number];

const isNative = (fn: KernelUnaryFn): fn is Native =>
  (native as readonly KernelUnaryFn[]).includes(fn);

const local = (id: number): string => `v${id}`;

function mayReturn(statement: KernelStatement): boolean {
  switch (statement.kind) {
    case 'return':
      return true;
    case 'if':
      return [...statement.yes, ...statement.no].some(mayReturn);
    case 'loop':
      return statement.body.some(mayReturn);
    default:
      return false;
  }
}
