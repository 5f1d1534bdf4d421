import { twoWords } from '../../../random/philox.ts';
import { sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor-meta.ts';
import { output } from '../core/kernel-plan.ts';
import { chosenByNothing, type WgslPlan } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** The count of numbers in a block of Philox, which one thread draws. */
export const lanes = 4;

/** Declares a stream's position as uniforms: the words of the first block and of the seed, and the numbers to skip. */
export function streamTexts(
  w: WgslWriter,
  suffix: string,
  numberOf: (attrs: Attrs, name: 'seed' | 'offset') => number,
) {
  const word = (name: string, of: (attrs: Attrs) => number) =>
    w.uniform(`${name}${suffix}`, { kind: 'integer', of });
  const firstBlock = (attrs: Attrs) => Math.floor(numberOf(attrs, 'offset') / lanes);
  const [low, high] = [0, 1].map((i) =>
    word(`block${i}`, (attrs) => twoWords(firstBlock(attrs))[i]!),
  );
  const [key0, key1] = [0, 1].map((i) =>
    word(`key${i}`, (attrs) => twoWords(numberOf(attrs, 'seed'))[i]!),
  );
  const skipped = word('skipped', (attrs) => numberOf(attrs, 'offset') % lanes);
  return { low, high, key0, key1, skipped };
}

/**
 * Draws numbers `offset`, `offset + 1`, … of the seed's stream, a thread per block. Uniform numbers are bitwise
 * identical to the CPU's; normal ones are as close as float32 allows.
 */
export function randomPlan(kind: 'uniform' | 'normal') {
  return (_inputs: readonly TensorMeta[], [out]: readonly TensorMeta[]): WgslPlan | null => {
    if (!isContiguousMeta(out!)) return null;
    const size = sizeOf(out!.shape);
    // The first number may be any of its block.
    const blocks = Math.ceil((size + lanes - 1) / lanes);
    return {
      scratch: [],
      stages: [
        {
          operands: [
            { slot: output(0), written: true, walk: null, elements: size, type: 'float32' },
          ],
          isEmpty: size === 0,
          chosenBy: chosenByNothing,
          write: (issue) => {
            const w = new WgslWriter(workgroupThreads, issue);
            const numberOf = (attrs: Attrs, name: string) => attrs[name] as number;
            const { low, high, key0, key1, skipped } = streamTexts(w, '', numberOf);
            w.line(
              `let t = group * ${workgroupThreads}u + thread;`,
              `let low = ${low} + t;`,
              `let high = ${high} + select(0u, 1u, low < t);`,
              `let words = f_philox(vec2<u32>(low, high), vec2<u32>(${key0}, ${key1}));`,
              `let drawn = f_${kind}(words);`,
              `for (var lane = 0u; lane < ${lanes}u; lane = lane + 1u) {`,
              // As a u32, a negative index is very large.
              `let i = t * ${lanes}u + lane - ${skipped};`,
              `if (i < ${w.count('size', size)}) { ${w.store(0, `${w.offset(0)} + i`, 'drawn[lane]')} }`,
              '}',
            );
            const groups = groupsOf(Math.ceil(blocks / workgroupThreads));
            return { text: w.text(), uniforms: w.uniforms, groups };
          },
        },
      ],
    };
  };
}
