import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { isDouble } from '../../../ops/expr/expr-precision.ts';
import { type FusedBody, fusedAttr } from '../../../ops/expr/fused-body.ts';
import { type DType, dtypes } from '../../../spec/dtype.ts';
import { isHalf } from '../../../spec/half.ts';
import { panelAAt, panelABytes } from '../core/scratch.ts';
import { i32, load, op, scratchBase, store } from '../wasm/assembler/code.ts';
import { Elements, type Walk, type Width } from '../wasm/assembler/elements.ts';
import { ExprEmitter } from '../wasm/assembler/expr-emitter.ts';
import { type FunctionBuilder, get, type Local } from '../wasm/assembler/function-builder.ts';
import { emitDecode } from '../wasm/assembler/half.ts';
import { compile } from '../wasm/assembler/module-builder.ts';
import {
  KernelAttrs,
  nanosecondsOf,
  type PointwiseKernel,
  type RowCursor,
  rowCursor,
} from '../wasm/pointwise-kernel.ts';
import { type Segment, segmentsOf, stripVectors } from './segments.ts';
import { type KernelBody, type KernelPart, splitParts } from './split-parts.ts';

/** The signature that a fused kernel is specialized for: dtypes and walks of the operands, then of the results. */
export interface FusedSignature {
  readonly body: FusedBody;
  readonly dtypes: readonly DType[];
  readonly walks: readonly Walk[];
  /** Whether the inner loop is too short for strips, so that all parts run in one loop. */
  readonly isShort: boolean;
}

/** One vector for each vector of the strip, and one for each element after the last full vector. */
const stripBytes = (stripVectors + 4) * 16;

/** The number of values that fit into scratch memory between two loops. */
const mostStrips = Math.floor(panelABytes / stripBytes);

interface StripCursor extends RowCursor {
  /** The first element of the strip. */
  readonly strip: Local;
}

/** A part's result in one loop: as other parts read it, and as stored. */
interface PartValue {
  readonly value: Local;
  readonly stored: Local;
}

class FusedWriter {
  readonly attrs: KernelAttrs;
  readonly #f: FunctionBuilder;
  readonly #body: KernelBody;
  readonly #cursors: readonly StripCursor[];
  readonly #elements: Elements;
  readonly #width: Width;
  readonly #segments: readonly Segment[];
  /** The location of each part's result between loops. */
  readonly #strips = new Map<number, number>();
  /** The stores of each loop, as pairs of cursor and part. */
  readonly #stores: readonly (readonly (readonly [cursor: number, part: number])[])[];

  constructor(
    f: FunctionBuilder,
    { body: unsplit, dtypes: kinds, walks, isShort }: FusedSignature,
  ) {
    this.#f = f;
    const body = splitParts(unsplit, kinds);
    this.#body = body;
    this.#width = isDouble([...kinds, ...body.parts.map(({ dtype }) => dtype)]) ? 2 : 4;
    this.#elements = new Elements(f, this.#width);
    const isOne = isShort || body.parts.length > mostStrips;
    this.#segments = isOne ? [{ first: 0, end: body.parts.length }] : segmentsOf(body);
    const at = f.param();
    const n = f.param();
    const rows = f.param();
    this.#cursors = kinds.map((dtype, k) => ({
      ...rowCursor(f, at, k, { dtype, walk: walks[k]! }),
      strip: f.local('i32'),
    }));
    this.#stores = this.#placeStores(kinds.length - body.results.length);
    this.#placeStrips();
    this.attrs = new KernelAttrs(f, kinds.length);
    f.countDown(rows, 1, () => this.#row(n));
  }

  /**
   * Assigns stores to loops. A result is stored by the loop that computes it, or by the last loop if a later loop
   * still reads an operand, because the result may reuse that operand's memory.
   */
  #placeStores(operands: number): (readonly [number, number])[][] {
    const { results, writes } = this.#body;
    const last = this.#segments.length - 1;
    const readsIn = this.#segments.map((segment) => this.#operandsOf(segment));
    const stores = this.#segments.map((): [number, number][] => []);
    const segmentOf = (part: number) => this.#segments.findIndex(({ end }) => part < end);
    results.forEach((part, i) => {
      const segment = segmentOf(part);
      const isReadLater = readsIn.slice(segment + 1).some((read) => read.size > 0);
      stores[isReadLater ? last : segment]!.push([operands + i, part]);
    });
    for (const { operand, part } of writes) stores[segmentOf(part)]!.push([operand, part]);
    return stores;
  }

  /** Returns the kernel operands whose data the loop reads. */
  #operandsOf({ first, end }: Segment): Set<number> {
    const found = new Set<number>();
    for (const part of this.#body.parts.slice(first, end)) {
      for (const operand of readOperands(part))
        if ('operand' in operand) found.add(operand.operand);
    }
    return found;
  }

  /** Returns the results of earlier loops that a loop reads. */
  #earlierOf({ first, end }: Segment, stores: readonly (readonly [number, number])[]): Set<number> {
    const read = this.#body.parts.slice(first, end).flatMap(readOperands);
    const parts = [
      ...read.flatMap((operand) => ('part' in operand ? [operand.part] : [])),
      ...stores.map(([, part]) => part),
    ];
    return new Set(parts.filter((part) => part < first));
  }

  #placeStrips(): void {
    this.#segments.forEach((segment, i) => {
      for (const part of this.#earlierOf(segment, this.#stores[i]!)) {
        if (!this.#strips.has(part)) this.#strips.set(part, this.#strips.size);
      }
    });
  }

  #dtypeOf(operand: KernelPart['operands'][number]): DType {
    return 'part' in operand
      ? this.#body.parts[operand.part]!.dtype
      : this.#cursors[operand.operand]!.dtype;
  }

  #row(n: Local): void {
    const f = this.#f;
    const left = f.local('i32', get(n));
    for (const cursor of this.#cursors) {
      f.set(cursor.at, get(cursor.row));
      f.set(cursor.strip, get(cursor.row));
      if (cursor.walk === 'fixed') this.#elements.loadOne(cursor);
    }
    if (this.#segments.length === 1) this.#loop(0, left);
    else this.#strip(left);
    for (const cursor of this.#cursors) f.add(cursor.row, get(cursor.rowStep));
  }

  /** Writes all loops over one strip, then over the next. */
  #strip(left: Local): void {
    const f = this.#f;
    const count = f.local('i32');
    const inLoop = f.local('i32');
    const most = stripVectors * this.#width;
    f.while(op('i32.gt_u', get(left), i32(0)), () => {
      f.set(count, get(left));
      f.if(op('i32.gt_u', get(count), i32(most)), () => f.set(count, i32(most)));
      this.#segments.forEach((_, i) => {
        for (const cursor of this.#cursors) f.set(cursor.at, get(cursor.strip));
        f.set(inLoop, get(count));
        this.#loop(i, inLoop);
      });
      for (const { walk, dtype, step, strip } of this.#cursors) {
        if (walk === 'fixed') continue;
        const bytes = walk === 'contiguous' ? i32(dtypes[dtype].bytes) : get(step);
        f.add(strip, op('i32.mul', get(count), bytes));
      }
      f.set(left, op('i32.sub', get(left), get(count)));
    });
  }

  /** Writes one loop over `left` elements. */
  #loop(index: number, left: Local): void {
    const f = this.#f;
    const elements = this.#elements;
    const segment = this.#segments[index]!;
    const stores = this.#stores[index]!;
    const read = this.#operandsOf(segment);
    const loaded = this.#cursors.filter((_, k) => read.has(k));
    const touched = this.#cursors.filter(
      (_, k) => read.has(k) || stores.some(([cursor]) => cursor === k),
    );
    const vector = f.local('i32', scratchBase);
    const step = (vectors: number) => {
      if (this.#strips.size > 0) f.add(vector, vectors * 16);
    };
    const loop = (vectors: readonly (readonly StripCursor[])[]) => {
      const count = vectors.length * this.#width;
      f.countDown(left, count, () => {
        for (const cursors of vectors) {
          cursors.forEach((cursor, k) => {
            if (read.has(k)) elements.loadVector(cursor);
          });
        }
        const values = vectors.map((cursors, i) => this.#compute(index, vector, cursors, i));
        // Stores come last, because engines don't join stores across a load.
        this.#keep(index, vector, values);
        for (const [cursor, part] of stores) {
          vectors.forEach((cursors, i) => {
            elements.storeVector(cursors[cursor]!, values[i]!.get(part)!.stored);
          });
        }
        for (const cursor of touched) elements.advance(cursor, count);
        step(vectors.length);
      });
    };
    const next = elements.next(this.#cursors);
    if (next) loop([this.#cursors, next]);
    loop([this.#cursors]);
    f.countDown(left, 1, () => {
      for (const cursor of loaded) if (cursor.walk !== 'fixed') elements.loadOne(cursor);
      // Tails run the same vector code, on copies of one element, so that they get the same bits.
      const values = this.#compute(index, vector, this.#cursors, 0);
      this.#keep(index, vector, [values]);
      for (const [cursor, part] of stores) {
        elements.storeLane(this.#cursors[cursor]!, values.get(part)!.stored, 0);
      }
      for (const cursor of touched) elements.advance(cursor, 1);
      step(1);
    });
  }

  /** Computes the results of the loop's parts, and loads those of earlier loops, for a vector of the iteration. */
  #compute(
    index: number,
    vector: Local,
    cursors: readonly StripCursor[],
    ahead: number,
  ): Map<number, PartValue> {
    const f = this.#f;
    const segment = this.#segments[index]!;
    const values = new Map<number, PartValue>();
    for (const part of this.#earlierOf(segment, this.#stores[index]!)) {
      const at = this.#stripAt(part) + ahead * 16;
      values.set(part, this.#valueOf(part, f.local('v128', load('v128.load', get(vector), at))));
    }
    for (let part = segment.first; part < segment.end; part++) {
      values.set(part, this.#valueOf(part, this.#computePart(part, values, cursors)));
    }
    return values;
  }

  /** Stores the values that later loops read, for each vector of the iteration. */
  #keep(index: number, vector: Local, vectors: readonly ReadonlyMap<number, PartValue>[]): void {
    const { first, end } = this.#segments[index]!;
    for (const part of this.#strips.keys()) {
      if (part < first || part >= end) continue;
      vectors.forEach((values, i) => {
        const { stored } = values.get(part)!;
        const at = this.#stripAt(part) + i * 16;
        this.#f.emit(store('v128.store', get(vector), get(stored), at));
      });
    }
  }

  #stripAt(part: number): number {
    return panelAAt + this.#strips.get(part)! * stripBytes;
  }

  #valueOf(part: number, stored: Local): PartValue {
    const { dtype } = this.#body.parts[part]!;
    if (!isHalf(dtype)) return { value: stored, stored };
    return { value: this.#f.local('v128', emitDecode(this.#f, dtype, stored)), stored };
  }

  #computePart(
    index: number,
    values: ReadonlyMap<number, PartValue>,
    cursors: readonly StripCursor[],
  ): Local {
    const part = this.#body.parts[index]!;
    const kinds = part.operands.map((operand) => this.#dtypeOf(operand));
    const emitter = new ExprEmitter(this.#f, part.expr, kinds, {
      input: (i) => {
        const operand = part.operands[i]!;
        return 'part' in operand
          ? values.get(operand.part)!.value
          : cursors[operand.operand]!.value;
      },
      attr: (name, form) => this.attrs.of(fusedAttr(part.attrsOf, name), form),
    });
    return this.#elements.stored(emitter, part.expr, part.dtype);
  }
}

/** Returns the operands that a part's expression reads. */
function readOperands({ expr, operands }: KernelPart): KernelPart['operands'] {
  const read = new Set(
    nodesOf(expr).flatMap((node) => (node.kind === 'input' ? [node.index] : [])),
  );
  return operands.filter((_, i) => read.has(i));
}

export function compileFused(signature: FusedSignature): PointwiseKernel {
  let attrs: PointwiseKernel['attrs'] = [];
  const { run } = compile({
    run: (f) => {
      attrs = new FusedWriter(f, signature).attrs.places;
    },
  });
  const { body, dtypes: kinds } = signature;
  const costs = body.parts.map(({ expr, dtype }) => {
    return nanosecondsOf({ expr, dtypes: [...kinds, dtype] });
  });
  const nanoseconds = costs.reduce((sum, each) => sum + each, 0);
  return { run: run as PointwiseKernel['run'], attrs, nanoseconds };
}
