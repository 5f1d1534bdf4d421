import { invariant } from '../../../errors/invariant.ts';
import type { KernelText, StoreLayout } from '../core/kernel-text.ts';
import { rowElements, rowShift } from './texture.ts';

/** The sampler of the target's old contents, in kernels that preserve some of them. */
export const oldTarget = 'oldTarget';

/**
 * Whether the kernel must preserve elements of the target that no thread writes. If so, every element is drawn to
 * another texture, and unwritten elements are copied, because a fragment computes the element at its own position.
 * Otherwise only written elements are drawn.
 */
export function preservesUnwritten({ layout, aliases }: KernelText): boolean {
  return layout !== null || aliases.length > 0;
}

/**
 * Adapts a gpu.js fragment shader: buffers are in rows of one width, elements are indexed by integers (gpu.js
 * samples by float32 coordinates, which miss the last texels of large textures), and stores may go to views.
 */
export function fragmentText(glsl: string, text: KernelText): string {
  const read = 'vec4 result = getImage2D(tex, texSize, texDim, z, y, x);\n  return result[0];';
  const main = glsl.indexOf('void main(void) {');
  invariant(glsl.includes(read) && main >= 0, 'gpu.js made GLSL of another form');
  const start = glsl.slice(0, main).replace(read, `return ${texel('tex', 'x')};`);
  return start + (preservesUnwritten(text) ? keepingMain(text) : directMain(text));
}

function texel(sampler: string, index: string): string {
  return `texelFetch(${sampler}, ivec2(${index} & ${rowElements - 1}, ${index} >> ${rowShift}), 0).r`;
}

const element = `int(gl_FragCoord.y) * ${rowElements} + int(gl_FragCoord.x)`;

function numberOf({ storeOffset }: KernelText): string {
  return storeOffset === null ? element : `${element} - int(user_${storeOffset})`;
}

const computed = `threadId = ivec3(i, 0, 0);
  kernel();
  data0 = vec4(float(kernelResult), 0.0, 0.0, 1.0);`;

function directMain(text: KernelText): string {
  return `void main(void) {
  int i = ${numberOf(text)};
  ${computed}
}`;
}

/** Finds the thread that stores here by dividing by the strides, largest first. */
function keepingMain(text: KernelText): string {
  const { loops, base } = text.layout ?? { loops: [{ size: text.threads, stride: 1 }], base: 0 };
  const lines = [
    `int rest = ${numberOf(text)} - ${base};`,
    'bool stored = rest >= 0;',
    'int i = 0;',
    'int place;',
  ];
  for (const { size, stride, threads } of byStride(loops)) {
    lines.push(
      `place = rest / ${stride};`,
      `stored = stored && place < ${size};`,
      `rest -= place * ${stride};`,
      `i += place * ${threads};`,
    );
  }
  return `uniform highp sampler2D ${oldTarget};
void main(void) {
  ${lines.join('\n  ')}
  if (stored && rest == 0) {
  ${computed}
  } else {
  data0 = texelFetch(${oldTarget}, ivec2(gl_FragCoord.xy), 0);
  }
}`;
}

interface StoreLoop {
  readonly size: number;
  readonly stride: number;
  /** The number of threads between two iterations. */
  readonly threads: number;
}

/** Sorts strides in descending order; the division relies on one thread per element. */
function byStride(loops: StoreLayout['loops']): StoreLoop[] {
  let threads = 1;
  const found: StoreLoop[] = [];
  for (const loop of loops.toReversed()) {
    found.push({ ...loop, threads });
    threads *= loop.size;
  }
  found.sort((a, b) => b.stride - a.stride);
  let span = 0;
  for (const { size, stride } of found.toReversed()) {
    invariant(stride > span, 'a store to a view whose elements interleave');
    span += (size - 1) * stride;
  }
  return found;
}
