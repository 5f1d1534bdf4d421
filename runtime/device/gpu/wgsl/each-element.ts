import type { Groups } from '../core/command-batch.ts';
import { type ElementType, packingOf } from './elements/element-type.ts';
import type { Issue, WgslOperand } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** Consecutive elements processed by one thread, for operands whose elements may share words. */
export interface Unit {
  /** 1, or as many of the smallest elements as fit into a word if threads own words. */
  readonly elements: number;
  /** Indices of the written operands whose elements share words. */
  readonly packed: readonly number[];
}

/** `first` is the stage index of the first of these operands. */
export function unitOf(operands: readonly WgslOperand[], { ownsWords }: Issue, first = 0): Unit {
  if (!ownsWords) return { elements: 1, packed: [] };
  const packed: number[] = [];
  let elements = 1;
  operands.forEach(({ written, type }, i) => {
    const packing = written ? packingOf(type) : null;
    if (!packing) return;
    packed.push(first + i);
    elements = Math.max(elements, packing.perWord);
  });
  return { elements, packed };
}

/** Writes the loop over a unit of `size` elements, starting at `first`; `element` is the index's name within `body`. */
export function unitText(
  w: WgslWriter,
  { elements, packed }: Unit,
  size: string,
  [first, element]: readonly [string, string],
  body: () => void,
): void {
  w.collect(packed);
  w.line(
    `let last = min(${first} + ${elements}u, ${size}) - 1u;`,
    `for (var ${element} = ${first}; ${element} <= last; ${element} = ${element} + 1u) {`,
    `let isLast = ${element} == last;`,
  );
  body();
  w.line('}');
}

/** Writes a kernel over `size` elements, with the index `e` in scope of `body`; returns its workgroups. */
export function eachElement(
  w: WgslWriter,
  size: number,
  operands: readonly WgslOperand[],
  issue: Issue,
  body: () => void,
): Groups {
  const unit = unitOf(operands, issue);
  const units = Math.ceil(size / unit.elements);
  const count = w.count('elements', size);
  const number = `group * ${workgroupThreads}u + thread`;
  if (unit.elements === 1) {
    w.line(`let e = ${number};`, `if (e >= ${count}) { return; }`);
    body();
  } else {
    w.line(`let t = ${number};`, `if (t >= ${w.count('units', units)}) { return; }`);
    unitText(w, unit, count, [`t * ${unit.elements}u`, 'e'], body);
  }
  return groupsOf(Math.ceil(units / workgroupThreads));
}

/** Whether rows of this many adjacent elements, starting at multiples of `strides`, start at word boundaries. */
export function beginWithWords(
  type: ElementType,
  length: number,
  strides: readonly number[],
): boolean {
  const perWord = packingOf(type)?.perWord ?? 1;
  return [length, ...strides].every((step) => step % perWord === 0);
}

/** Writes the loop of thread `s` of `slices` over its units of a row up to `end`; `k` is the index within `body`. */
export function rowUnits(w: WgslWriter, unit: Unit, slices: number, body: () => void): void {
  const { elements } = unit;
  if (elements === 1) {
    w.line(`for (var k = s; k < end; k = k + ${slices}u) {`);
    body();
  } else {
    w.line(`for (var k0 = s * ${elements}u; k0 < end; k0 = k0 + ${slices * elements}u) {`);
    unitText(w, unit, 'end', ['k0', 'k'], body);
  }
  w.line('}');
}
