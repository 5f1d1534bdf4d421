import { contiguousStrides } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { type Entries, entriesOf } from '../core/entries.ts';
import { input, output, singleStage } from '../core/kernel-plan.ts';
import { coordinates } from './conv.ts';
import type { NamedPlan } from './named-plan.ts';
import { type ArrayRef, StageWriter } from './stage-writer.ts';

/**
 * Selection of elements and entries by index tensors. A GPU can't throw: an out-of-range index reads NaN and
 * writes nothing. For writes, each element of the result searches the index, so that no two threads write the same
 * element.
 */

const sum = (terms: readonly string[]) => terms.join('+') || '0.0';

/** Returns the element index of a strided operand at named coordinates; `skip` is an omitted dimension. */
function placeOf(strides: readonly number[], names: readonly string[], skip = -1): string {
  return sum(strides.flatMap((stride, d) => (d === skip ? [] : [`${names[d]}*${stride}`])));
}

function named(w: StageWriter, shape: readonly number[]): string[] {
  const names = shape.map(() => w.name());
  if (shape.length === 1) w.line(`let ${names[0]}=i;`);
  else coordinates(w, shape, names);
  return names;
}

/** Reads `value` if the test holds, else NaN; the index is safe either way. */
function guardedRead(w: StageWriter, ref: ArrayRef, test: string, place: string): string {
  const inside = w.let(`(${test}?1.0:0.0)`);
  const safe = w.let(`(${inside}>0.5?${place}:0.0)`);
  const value = w.let(ref.at(safe));
  return `(${inside}>0.5?${value}:${w.nan})`;
}

export const gather: NamedPlan = ([x, index], [out], attrs) => {
  const dim = attrs.dim as number;
  const w = new StageWriter();
  const source = w.array(input(0));
  const places = w.array(input(1));
  const names = named(w, out!.shape);
  const chosen = w.let(places.at(placeOf(index!.strides, names)));
  const place = `${placeOf(x!.strides, names, dim)}+${chosen}*${x!.strides[dim]!}`;
  const test = `${chosen}>=0.0&&${chosen}<${x!.shape[dim]!}`;
  return singleStage(w.into(output(0), out!, guardedRead(w, source, test, place)));
};

type Update = 'replace' | 'add';

/** Operands: [base] index, source — in the order of `slots`. */
function scatterPlan(
  [base, index, source]: readonly [TensorMeta | null, TensorMeta, TensorMeta],
  [baseSlot, indexSlot, sourceSlot]: readonly [number, number, number],
  out: TensorMeta,
  dim: number,
  update: Update,
) {
  const w = new StageWriter();
  const places = w.array(input(indexSlot));
  const values = w.array(input(sourceSlot));
  const names = named(w, out.shape);
  const start = base ? w.array(input(baseSlot)).at(placeOf(base.strides, names)) : '0.0';
  const result = w.let(start);
  const inside = names.flatMap((name, d) => (d === dim ? [] : [`${name}<${index.shape[d]!}`]));
  w.line(`if(${['0.0<1.0', ...inside].join('&&')}){`);
  w.loop(index.shape[dim]!, (k) => {
    const at = (meta: TensorMeta) =>
      `${placeOf(meta.strides, names, dim)}+${k}*${meta.strides[dim]!}`;
    const chosen = w.let(places.at(at(index)));
    w.line(`if(${chosen}===${names[dim]}){`);
    const value = values.at(at(source));
    w.line(`${result}=${update === 'add' ? `${result}+${value}` : value};`, '}');
  });
  w.line('}');
  return singleStage(w.into(output(0), out, result));
}

export const gatherGrad: NamedPlan = ([dy, index], [dx], { dim }) =>
  scatterPlan([null, index!, dy!], [0, 1, 0], dx!, dim as number, 'add');

export const scatter: NamedPlan = ([x, index, source], [out], { dim }) =>
  scatterPlan([x!, index!, source!], [0, 1, 2], out!, dim as number, 'replace');

export const scatterAdd: NamedPlan = ([x, index, source], [out], { dim }) =>
  scatterPlan([x!, index!, source!], [0, 1, 2], out!, dim as number, 'add');

/** Writes variables with the row that choice `b` selects, and with 1 if it exists. */
function rowOf(
  w: StageWriter,
  places: ArrayRef,
  { sizes, chosen }: Entries,
  b: string,
  { wraps }: Attrs,
): readonly [row: string, exists: string] {
  const strides = contiguousStrides(sizes);
  const tests = ['0.0<1.0'];
  const terms = sizes.map((size, k) => {
    const signedIndex = w.let(places.at(`${k * chosen}+${b}`));
    const place = wraps
      ? w.let(`(${signedIndex}<0.0?${signedIndex}+${size}:${signedIndex})`)
      : signedIndex;
    tests.push(`${place}>=0.0&&${place}<${size}`);
    return `${place}*${strides[k]!}`;
  });
  return [w.let(sum(terms)), w.let(`(${tests.join('&&')}?1.0:0.0)`)];
}

export const index: NamedPlan = ([x, chosen], [out], attrs) => {
  const entries = entriesOf(x!, chosen!, attrs);
  const w = new StageWriter();
  const source = w.array(input(0));
  const places = w.array(input(1));
  const [o, b, i] = named(w, [entries.outer, entries.chosen, entries.inner]);
  const [row, exists] = rowOf(w, places, entries, b!, attrs);
  const place = `(${o}*${entries.rows}+${row})*${entries.inner}+${i}`;
  return singleStage(w.into(output(0), out!, guardedRead(w, source, `${exists}>0.5`, place)));
};

function updatePlan(
  out: TensorMeta,
  index: TensorMeta,
  slots: { readonly base: number | null; readonly source: number },
  attrs: Attrs,
  update: Update,
) {
  const entries = entriesOf(out, index, attrs);
  const w = new StageWriter();
  const places = w.array(input(1));
  const values = w.array(input(slots.source));
  const [o, own, i] = named(w, [entries.outer, entries.rows, entries.inner]);
  const element = `(${o}*${entries.rows}+${own})*${entries.inner}+${i}`;
  const result = w.let(slots.base === null ? '0.0' : w.array(input(slots.base)).at(element));
  w.loop(entries.chosen, (b) => {
    const [row, exists] = rowOf(w, places, entries, b, attrs);
    w.line(`if(${exists}>0.5&&${row}===${own}){`);
    const value = values.at(`(${o}*${entries.chosen}+${b})*${entries.inner}+${i}`);
    w.line(`${result}=${update === 'add' ? `${result}+${value}` : value};`, '}');
  });
  return singleStage(w.into(output(0), out, result));
}

export const indexGrad: NamedPlan = ([, index], [dx], attrs) =>
  updatePlan(dx!, index!, { base: null, source: 0 }, attrs, 'add');

export const indexPut: NamedPlan = ([, index], [out], attrs) =>
  updatePlan(out!, index!, { base: 0, source: 2 }, attrs, 'replace');

export const indexAdd: NamedPlan = ([, index], [out], attrs) =>
  updatePlan(out!, index!, { base: 0, source: 2 }, attrs, 'add');
