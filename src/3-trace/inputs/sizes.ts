import { formatPosition, type UserPosition } from '../../../runtime/errors/position.ts';
import { scalarFunctions } from '../../../runtime/ops/numbers/scalar-functions.ts';
import { ScalarTable, type SymbolicNumber } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { sampleNumbers } from '../../guards/called-numbers.ts';
import type { Guard } from '../../guards/guard.ts';
import {
  compileNumber,
  type NumberExpr,
  numberKey,
  numberSources,
} from '../../guards/number-expr.ts';
import { compileReader, type Reader, type Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { LoopDecision } from '../../traces/trace-result.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { isLayout } from './symbolic.ts';

/** A number of an op result's layout that user code has read. */
export interface SizeRead {
  readonly tensor: Tensor;
  readonly of: 'shape' | 'strides' | 'offset';
  /** Null for the number of elements, and for the offset. */
  readonly dim: number | null;
}

/** A dynamic dimension of an input. */
interface OpenDim {
  /** Null for sizes of at least 2, excluding 0 and 1. */
  readonly size: null | 'any';
  /** The source of the size. */
  readonly place: Source;
}

/** Sizes and numbers in which the programs of one trace differ. */
export class Sizes {
  /** Sizes of inputs, and numbers that determine shapes. */
  readonly keys = new Map<string, Source>();
  readonly reads: SizeRead[] = [];
  /** The tensors whose `shape` was read: an array that refers to `reads`. */
  readonly shapesRead: { shape: unknown }[] = [];
  /** The dynamic dimensions of each input. */
  readonly dims = new Map<Tensor, ReadonlyMap<number, OpenDim>>();
  /** Expressions whose values are determined by the sizes, by key. */
  readonly decided = new Map<string, NumberExpr>();
  /** Whether the trace did something that can't be replayed and is valid only for its own sizes. */
  fixed = false;
  /** The code for which the trace is valid for one length of an array only, with reasons. */
  readonly perLength = new Map<string, LoopDecision>();

  /** Returns a function that restores the current state, except for the dimensions of inputs. */
  checkpoint(): () => void {
    const { reads, keys, decided, perLength, fixed } = this;
    const { length } = reads;
    const shapes = this.shapesRead.length;
    const maps = [keys, decided, perLength].map((map) => ({ map, size: map.size }));
    return () => {
      reads.length = length;
      // The next read gets the index of one that is gone.
      for (const tensor of this.shapesRead.splice(shapes)) tensor.shape = null;
      for (const { map, size } of maps) {
        for (const key of [...map.keys()].slice(size)) map.delete(key);
      }
      this.fixed = fixed;
    };
  }

  /** Records that the trace is valid for one length of an array, although the length varies. */
  holdForOneLength(at: UserPosition | undefined, why: string): void {
    const key = at ? formatPosition(at) : '';
    if (!this.perLength.has(key)) this.perLength.set(key, { at, why });
  }

  get vary(): boolean {
    return this.keys.size > 0;
  }

  addKey(source: Source): void {
    this.keys.set(sourceKey(source), source);
  }

  isKey(source: Source): boolean {
    return this.keys.has(sourceKey(source));
  }

  /** Returns value guards on the numeric keys, for a program that is valid for these numbers only. */
  fixedNumbers(frames: readonly Frame[]): Guard[] {
    return [...this.keys.values()].flatMap((source): Guard[] => {
      // Guards on input tensors already cover sizes and strides.
      if (isLayout(source)) return [];
      return [{ kind: 'value', source, value: compileReader(source)(frames) as number }];
    });
  }

  /** Returns whether the keys alone determine the number. */
  decide(expr: NumberExpr): boolean {
    for (const source of numberSources(expr)) if (!this.isKey(source)) return false;
    return true;
  }

  /** Returns a number of a result's layout as a leaf of expressions. */
  read(tensor: Tensor, dim: number | null, of: SizeRead['of'] = 'shape'): NumberExpr {
    const isSame = (read: SizeRead) => read.tensor === tensor && read.dim === dim && read.of === of;
    let index = this.reads.findIndex(isSame);
    if (index < 0) index = this.reads.push({ tensor, dim, of }) - 1;
    const whole = of === 'shape' ? 'size' : of;
    return { kind: 'size', index, name: dim === null ? whole : `${of}[${dim}]` };
  }
}

/** Returns the number in the layout of `tensor`. */
export function sizeIn(tensor: Tensor, { dim, of }: Pick<SizeRead, 'dim' | 'of'>): number {
  if (of === 'offset') return tensor.offset;
  // Methods may be user-defined.
  return dim === null ? sizeOf(tensor.shape) : tensor[of][dim]!;
}

/** Returns the number as an operand of the tensor API: plain if the sizes determine it, else symbolic. */
export function numberFor(numbers: ProgramNumbers, sizes: Sizes, expr: NumberExpr): number {
  if (sizes.decide(expr)) sizes.decided.set(numberKey(expr), expr);
  return numbers.operand(sizes, expr) as number;
}

const comparisons: ReadonlySet<string> = new Set(
  [...scalarFunctions].flatMap(([name, fn]) => (typeof fn(1, 1) === 'boolean' ? [name] : [])),
);

type Applied = NumberExpr & { readonly kind: 'apply' };

/** JavaScript numbers as seen by one program: keys are plain numbers, other numbers are scalar inputs. */
export class ProgramNumbers {
  readonly scalars = new ScalarTable();
  /** Sources of the program's scalar inputs. */
  readonly sources: Source[] = [];
  readonly #inputs = new Map<string, SymbolicNumber>();
  readonly #frames: readonly Frame[];
  readonly #sizes: Sizes;
  readonly #sizeOf: (read: SizeRead) => number;
  readonly #readerOf: (source: Source) => Reader;

  constructor(
    frames: readonly Frame[],
    sizes: Sizes,
    sizeOf: (read: SizeRead) => number,
    readerOf: (source: Source) => Reader = compileReader,
  ) {
    this.#readerOf = (source) =>
      source.kind === 'called' ? () => sampleNumbers[source.fn] : readerOf(source);
    this.#frames = frames;
    this.#sizes = sizes;
    this.#sizeOf = sizeOf;
  }

  /** Returns the number's current value. */
  value(expr: NumberExpr): number | boolean {
    return compileNumber(expr, this.#sizes.reads.map(this.#sizeOf), this.#readerOf)(this.#frames);
  }

  /** Returns a plain number if the sizes determine it, else a symbolic number. */
  operand(sizes: Sizes, expr: NumberExpr): number | SymbolicNumber {
    return (sizes.decide(expr) ? this.value(expr) : this.attribute(expr)) as
      | number
      | SymbolicNumber;
  }

  /**
   * Returns the number as an attribute of an op: symbolic unless the sizes determine it; undefined for a
   * comparison.
   */
  attribute(expr: NumberExpr): number | SymbolicNumber | undefined {
    switch (expr.kind) {
      case 'source':
        return this.#sizes.isKey(expr.source)
          ? (this.value(expr) as number)
          : this.#input(expr.source);
      case 'constant':
        return expr.value;
      case 'size':
        return this.#sizeOf(this.#sizes.reads[expr.index]!);
      case 'apply':
        return comparisons.has(expr.fn) ? undefined : this.#call(expr);
    }
  }

  #call({ fn, args: exprs }: Applied): number | SymbolicNumber | undefined {
    const args = exprs.map((arg, i) => {
      const isTest = fn === '?:' && i === 0 && arg.kind === 'apply';
      return isTest ? this.#call(arg) : this.attribute(arg);
    });
    if (args.includes(undefined)) return undefined;
    if (args.every((arg) => typeof arg === 'number'))
      return Number(scalarFunctions.get(fn)!(...args));
    return this.scalars.apply(fn, args as (number | SymbolicNumber)[]);
  }

  #input(source: Source): SymbolicNumber {
    if (source.kind === 'held') {
      throw new GraphBreak(
        'unsupported-value',
        'the index of an element is a number of the program',
      );
    }
    const key = sourceKey(source);
    let input = this.#inputs.get(key);
    if (!input) {
      input = this.scalars.input(Number(this.#readerOf(source)(this.#frames)));
      this.sources.push(source);
      this.#inputs.set(key, input);
    }
    return input;
  }
}
