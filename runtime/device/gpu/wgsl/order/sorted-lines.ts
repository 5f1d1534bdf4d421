/**
 * Sorts lines by integer keys, stably: blocks of a line in workgroup memory, then pairs of runs are merged, with
 * each element finding its position in the other run. The result doesn't depend on timing.
 */

import { type Slot, scratch } from '../../core/kernel-plan.ts';
import type { ElementAt } from '../fold-plan.ts';
import { splitText } from '../index-text.ts';
import { chosenByNothing, readOperand, type WgslOperand, type WgslStage } from '../wgsl-plan.ts';
import { groupsOf, workgroupThreads } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';

/** Lines of one length, and the source of their elements' keys. */
export interface Lines {
  readonly count: number;
  readonly size: number;
  /** The operand that the keys are computed from. */
  readonly source: WgslOperand;
  /** Writes the body of `key(line, k)`, whose operand 0 is the source. Keys are u32. */
  readonly writeKey: (w: WgslWriter, at: ElementAt) => void;
}

/** The destination of sorted elements. */
export interface SortedTarget {
  /** Written operands come last. */
  readonly operands: readonly WgslOperand[];
  /** Writes the store of the element with rank `rank` in `line`, which was at `place` and has `key`. */
  readonly store: (w: WgslWriter, elements: StageElements) => void;
}

/** A stage's operands, indexed within a part of the stage. */
interface StageElements {
  readonly at: ElementAt;
  /** Returns the statement that stores an element. */
  readonly store: (operand: number, index: string, value: string) => string;
}

interface Sorted {
  readonly scratch: readonly number[];
  readonly stages: readonly WgslStage[];
  /** Sorted keys and indices, line after line, unless they went to a target. */
  readonly keys: Slot;
  readonly places: Slot;
}

/** The number of elements that a workgroup sorts. In software adapters, compile time grows with workgroup memory. */
const cells = 512;
const threads = 128;

/** Returns the capacity of a block, a power of 2. Several short blocks share a workgroup. */
function blockSize(size: number): number {
  return Math.min(cells, 2 ** Math.ceil(Math.log2(Math.max(2, size))));
}

/** Returns the number of merge stages. */
function mergesOf(size: number): number {
  return Math.max(0, Math.ceil(Math.log2(size / blockSize(size))));
}

function scratchTarget(first: number, elements: number, size: number): SortedTarget {
  const operand = (slot: Slot): WgslOperand => {
    return { slot, written: true, walk: null, elements, type: 'word' };
  };
  return {
    operands: [operand(scratch(first)), operand(scratch(first + 1))],
    store: (w, { store }) => {
      const index = w.let(`line * ${w.count('size', size)} + rank`);
      w.line(store(0, index, 'key'), store(1, index, 'place'));
    },
  };
}

/** Sorts lines into `target`, or else into scratch. */
export function sortLines(lines: Lines, target: SortedTarget | null = null): Sorted {
  const { count, size } = lines;
  const total = count * size;
  const merges = mergesOf(size);
  // Scratch contains the runs before the last stage, and the result unless there is a target.
  const kept = merges + (target ? 0 : 1);
  const buffers = Math.min(2, kept);
  const targets = Array.from({ length: merges + 1 }, (_, i) =>
    i === merges && target ? target : scratchTarget((i % 2) * 2, total, size),
  );
  const stages = targets.map((to, i) =>
    i === 0
      ? blockStage(lines, to)
      : mergeStage(lines, ((i - 1) % 2) * 2, blockSize(size) * 2 ** (i - 1), to),
  );
  const last = (merges % 2) * 2;
  return {
    scratch: new Array<number>(buffers * 2).fill(total),
    stages,
    keys: scratch(last),
    places: scratch(last + 1),
  };
}

/** Returns the stage's operands starting at index `first`. */
function elementsFrom(w: WgslWriter, first: number): StageElements {
  const place = (operand: number, index: string) => `${w.offset(first + operand)} + ${index}`;
  return {
    at: (operand, index) => w.load(first + operand, place(operand, index)),
    store: (operand, index, value) => w.store(first + operand, place(operand, index), value),
  };
}

/**
 * A bitonic sort in workgroup memory: of several short blocks, or of one long block. The block size is a uniform,
 * so that one kernel serves all sizes and drivers don't unroll its loops.
 */
function blockStage({ count, size, source, writeKey }: Lines, target: SortedTarget): WgslStage {
  const block = blockSize(size);
  const blocks = Math.ceil(size / block);
  const perGroup = cells / block;
  return {
    operands: [source, ...target.operands],
    isEmpty: count * size === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(threads, issue);
      w.shared('keys', `array<u32, ${cells}>`);
      w.shared('places', `array<u32, ${cells}>`);
      const [length, parts] = [w.count('size', size), w.count('blocks', blocks)];
      const blockText = w.count('block', block);
      w.function('key(line : u32, k : u32) -> u32', () => {
        writeKey(w, elementsFrom(w, 0).at);
      });
      w.function('store(line : u32, rank : u32, key : u32, place : u32)', () => {
        target.store(w, elementsFrom(w, 1));
      });
      const cell = (then: () => void): void => {
        w.line(
          `for (var c = thread; c < ${cells}u; c = c + ${threads}u) {`,
          `let unit = group * ${w.count('perGroup', perGroup)} + c / ${blockText};`,
          `let line = unit / ${parts};`,
          `let k = (unit - line * ${parts}) * ${blockText} + c % ${blockText};`,
          `let exists = line < ${w.count('lines', count)} && k < ${length};`,
        );
        then();
        w.line('}');
      };
      cell(() => {
        // Padding sorts after all elements.
        w.line(
          'places[c] = k;',
          'keys[c] = 0xffffffffu;',
          'if (exists) { keys[c] = key(line, k); }',
        );
      });
      w.line(
        'workgroupBarrier();',
        `for (var width = 2u; width <= ${blockText}; width = width * 2u) {`,
        'for (var step = width / 2u; step > 0u; step = step / 2u) {',
        `for (var p = thread; p < ${cells / 2}u; p = p + ${threads}u) {`,
        'let low = p * 2u - (p & (step - 1u));',
        'let high = low + step;',
        'let isAfter = keys[low] > keys[high] || (keys[low] == keys[high] && places[low] > places[high]);',
        `if (isAfter != ((low & width & (${blockText} - 1u)) != 0u)) {`,
        'let key = keys[low];',
        'keys[low] = keys[high];',
        'keys[high] = key;',
        'let place = places[low];',
        'places[low] = places[high];',
        'places[high] = place;',
        '}',
        '}',
        'workgroupBarrier();',
        '}',
        '}',
      );
      cell(() => w.line('if (exists) { store(line, k, keys[c], places[c]); }'));
      const groups = groupsOf(Math.ceil((count * blocks) / perGroup));
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Merges pairs of runs of `run` elements, with one thread per element. */
function mergeStage(
  { count, size }: Lines,
  from: number,
  run: number,
  target: SortedTarget,
): WgslStage {
  const total = count * size;
  return {
    operands: [
      readOperand(scratch(from), 'word'),
      readOperand(scratch(from + 1), 'word'),
      ...target.operands,
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(workgroupThreads, issue);
      const { at } = elementsFrom(w, 0);
      w.function('store(line : u32, rank : u32, key : u32, place : u32)', () => {
        target.store(w, elementsFrom(w, 2));
      });
      const length = w.count('size', size);
      const runText = w.count('run', run);
      w.line(
        `let e = group * ${workgroupThreads}u + thread;`,
        `if (e >= ${w.count('elements', total)}) { return; }`,
      );
      const [line, k] = splitText(w, 'e', length);
      w.line(
        `let key = ${at(0, 'e')};`,
        `let first = ${line} * ${length};`,
        `let number = ${k} / ${runText};`,
        // The other run of the pair: counts its elements before this one.
        `let other = (number ^ 1u) * ${runText};`,
        `var low = min(other, ${length});`,
        `var high = min(other + ${runText}, ${length});`,
        `let start = low;`,
        // Of equal keys, those of the first run come first.
        'let isFirst = (number & 1u) == 0u;',
        'while (low < high) {',
        'let middle = (low + high) / 2u;',
        `let found = ${at(0, 'first + middle')};`,
        'if (found < key || (found == key && !isFirst)) { low = middle + 1u; } else { high = middle; }',
        '}',
        `let rank = min(number, number ^ 1u) * ${runText} + ${k} - number * ${runText} + low - start;`,
        `store(${line}, rank, key, ${at(1, 'e')});`,
      );
      return {
        text: w.text(),
        uniforms: w.uniforms,
        groups: groupsOf(Math.ceil(total / workgroupThreads)),
      };
    },
  };
}
