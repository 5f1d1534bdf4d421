import { inPrecision } from '../../../ops/expr/expr-precision.ts';
import type { FusedBody, FusedOperand } from '../../../ops/expr/fused-body.ts';
import type { DType } from '../../../spec/dtype.ts';
import { broadcastStrides, contiguousStrides, sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { Slot } from '../core/kernel-plan.ts';
import { beginWithWords, unitOf, unitText } from './each-element.ts';
import { elementTypeOf, roundedText } from './elements/element-type.ts';
import { exponentClass, exponentsOf, exprText } from './expr-text.ts';
import { indexTexts, type Walks, walksOf } from './index-text.ts';
import { operandsRead } from './staged-body.ts';
import type { WgslOperand, WgslStage } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** A tensor and its location in a launch. */
interface LocatedTensor {
  readonly slot: Slot;
  readonly meta: TensorMeta;
  /** The first element, for a part of a tensor. */
  readonly base?: number;
}

/** Pointwise ops over one shape: a single op, or those of a fused op. */
export interface PointwiseBody {
  readonly body: FusedBody;
  readonly inputs: readonly LocatedTensor[];
  readonly outputs: readonly LocatedTensor[];
  /** Returns the launch attribute's name for a number of a part. */
  readonly attr: (part: number, name: string) => string;
}

/** A body with its operands' traversals, starting at stage index `first`. */
interface Segment extends PointwiseBody {
  readonly walks: Walks;
  readonly first: number;
  /** The number of its operands. */
  readonly located: number;
  readonly size: number;
}

/** From this many elements on, a workgroup has more threads, and each processes several elements of a body. */
const large = 1 << 16;
const largeThreads = 256;
const perThread = 2;

/** Returns one dispatch for all bodies, which are independent: a thread per element, or per two of a large body. */
export function pointwiseStage(bodies: readonly PointwiseBody[]): WgslStage {
  const operands: WgslOperand[] = [];
  const segments = bodies.map((each): Segment => {
    const { body, inputs, outputs } = each;
    const located = [...inputs, ...outputs];
    const strides = located.map(({ meta }) =>
      broadcastStrides(meta.shape, meta.strides, body.shape),
    );
    const walks = walksOf(body.shape, strides);
    const first = operands.length;
    const dense = contiguousStrides(walks.loops.shape).join();
    const read = operandsRead(body);
    located.forEach(({ slot, meta, base = 0 }, i) => {
      const written = i >= inputs.length || body.writes.some(({ operand }) => operand === i);
      const walk = `${bodies.indexOf(each)}:${walks.walks[i]!}`;
      const type = elementTypeOf(meta.dtype);
      // Parts of one result are written in parallel: each has its own words only if it starts at a word boundary.
      const inOrder = walks.loops.strides[i]!.join() === dense && beginWithWords(type, base, []);
      const elements = sizeOf(meta.shape);
      operands.push({ slot, written, isRead: read.has(i), walk, elements, type, inOrder });
    });
    return { ...each, walks, first, located: located.length, size: sizeOf(body.shape) };
  });
  const exponents = bodies.flatMap(({ body, attr }) => exponentNames(body, attr));
  return {
    operands,
    isEmpty: segments.every(({ size }) => size === 0),
    chosenBy: chosenByExponents(exponents),
    write: (issue) => {
      const units = segments.map(({ first, located, size }) => {
        const unit = unitOf(operands.slice(first, first + located), issue, first);
        return { ...unit, count: Math.ceil(size / unit.elements) };
      });
      const total = units.reduce((sum, { count }) => sum + count, 0);
      const threads = total < large ? workgroupThreads : largeThreads;
      const w = new WgslWriter(threads, issue);
      if (segments.length === 1 && units[0]!.elements === 1) {
        const each = total < large ? 1 : perThread;
        singleText(w, segments[0]!, threads, each, issue.attrs);
        const groups = groupsOf(Math.ceil(total / (threads * each)));
        return { text: w.text(), uniforms: w.uniforms, groups };
      }
      w.line(`var e = group * ${threads}u + thread;`);
      segments.forEach((segment, s) => {
        const unit = units[s]!;
        const size = w.count(`n${s}`, segment.size);
        const count = unit.elements === 1 ? size : w.count(`units${s}`, unit.count);
        w.line(`if (e < ${count}) {`);
        const text = (element: string) =>
          w.line(...segmentStores(w, segment, s, element, issue.attrs));
        if (unit.elements === 1) text('e');
        else unitText(w, unit, size, [`e * ${unit.elements}u`, 'i'], () => text('i'));
        w.line('return;', '}');
        if (s < segments.length - 1) w.line(`e = e - ${count};`);
      });
      return { text: w.text(), uniforms: w.uniforms, groups: groupsOf(Math.ceil(total / threads)) };
    },
  };
}

/** Returns the names of the attributes that are exponents. */
export function exponentNames(body: FusedBody, attr: PointwiseBody['attr']): readonly string[] {
  return body.parts.flatMap(({ expr }, part) => exponentsOf(expr).map((name) => attr(part, name)));
}

export function chosenByExponents(names: readonly string[]): (attrs: Attrs) => string {
  return (attrs) => names.map((name) => exponentClass(Number(attrs[name]))).join();
}

/** Reads all elements of a thread before storing the first, so that the GPU waits for memory once. */
function singleText(
  w: WgslWriter,
  segment: Segment,
  threads: number,
  each: number,
  attrs: Attrs,
): void {
  const size = w.count('n0', segment.size);
  const first = w.let(`group * ${threads * each}u + thread`);
  w.line(`if (${first} >= ${size}) { return; }`);
  // Beyond the last element, arbitrary values are read and not stored.
  const elements = [...Array(each).keys()].map((i) =>
    i === 0 ? first : w.let(`${first} + ${i * threads}u`),
  );
  const stores = elements.map((e) => segmentStores(w, segment, 0, e, attrs));
  stores.forEach((lines, i) => {
    if (i > 0) w.line(`if (${elements[i]!} >= ${size}) { return; }`);
    w.line(...lines);
  });
}

/** Writes the ops on element `e`, and returns the statements that store its results. */
function segmentStores(
  w: WgslWriter,
  segment: Segment,
  number: number,
  e: string,
  attrs: Attrs,
): string[] {
  const { body, inputs, outputs, attr, walks, first } = segment;
  const indices = indexTexts(w, walks.loops, e, `w${number}_`);
  const located = [...inputs, ...outputs];
  const place = (operand: number) => {
    const { base } = located[operand]!;
    const from = base === undefined ? '' : ` + ${w.count(`p${first + operand}`, base)}`;
    return `${w.offset(first + operand)}${from} + ${indices[operand]!}`;
  };
  return bodyStores(w, body, {
    load: (operand) => w.load(first + operand, place(operand)),
    store: (operand, value) => w.store(first + operand, place(operand), value),
    firstResult: inputs.length,
    dtype: (operand) => inputs[operand]!.meta.dtype,
    attr: (part, name) => {
      const full = attr(part, name);
      return { field: `a${number}_${full}`, name: full, value: Number(attrs[full]) };
    },
  });
}

/** The context of a body's text in its kernel. */
interface BodySources {
  readonly load: (operand: number) => string;
  /** Returns the statement that stores an element of an operand, or of a result, numbered after the operands. */
  readonly store: (operand: number, value: string) => string;
  readonly dtype: (operand: number) => DType;
  readonly attr: (
    part: number,
    name: string,
  ) => { readonly field: string; readonly name: string; readonly value: number };
  /** Operands whose values already exist, with their names. */
  readonly known?: ReadonlyMap<number, string>;
  /** The index of the first result. */
  readonly firstResult: number;
}

/** Returns the name of the value that an element of the dtype has after being stored; bools are already 0 or 1. */
export function roundedName(w: WgslWriter, dtype: DType, value: string): string {
  const text = dtype === 'bool' ? value : roundedText(elementTypeOf(dtype), value);
  return text === value ? value : w.let(text);
}

/** Writes the ops on one element, and stores its results. */
export function bodyText(w: WgslWriter, body: FusedBody, sources: BodySources): void {
  w.line(...bodyStores(w, body, sources));
}

/** Writes the ops on one element, and returns the statements that store its results. */
function bodyStores(w: WgslWriter, body: FusedBody, sources: BodySources): string[] {
  const loaded = new Map<number, string>(sources.known);
  const values: string[] = [];
  /** Values of parts that other parts read, rounded as if stored. */
  const rounded = new Map<number, string>();
  const read = (from: FusedOperand): string => {
    if ('part' in from) {
      const { part } = from;
      const { dtype } = body.parts[part]!;
      const value = rounded.get(part) ?? roundedName(w, dtype, values[part]!);
      rounded.set(part, value);
      return value;
    }
    let name = loaded.get(from.operand);
    if (name === undefined) {
      name = w.let(sources.load(from.operand));
      loaded.set(from.operand, name);
    }
    return name;
  };
  const dtypeOf = (from: FusedOperand): DType =>
    'part' in from ? body.parts[from.part]!.dtype : sources.dtype(from.operand);
  body.parts.forEach(({ expr: generic, operands, dtype }, part) => {
    const expr = inPrecision(generic, 'single');
    const value = exprText(w, expr, operands.map(dtypeOf), dtype, {
      element: (index) => read(operands[index]!),
      attr: (name, form) => {
        const attr = sources.attr(part, name);
        const field = attr.field.replaceAll(/\W/g, '_');
        if (form === 'f32') return w.uniform(field, { kind: 'attr', name: attr.name });
        return w.uniform(`${field}_int`, { kind: 'attr', name: attr.name, integer: true });
      },
      exponent: (name) => sources.attr(part, name).value,
    });
    values.push(value);
  });
  return [
    ...body.writes.map(({ operand, part }) => sources.store(operand, values[part]!)),
    ...body.results.map((part, i) => sources.store(sources.firstResult + i, values[part]!)),
  ];
}
