import {
  type GeneratedKernel,
  hostCalls,
  hostMethods,
} from '../../../../runtime/device/cpu/core/host-kernels.ts';
import {
  addressOf,
  expectContiguous,
  indexOf,
} from '../../../../runtime/device/cpu/core/kernel.ts';
import { panelAAt } from '../../../../runtime/device/cpu/core/scratch.ts';
import { randomKernels } from '../../../../runtime/device/cpu/wasm/random-kernels.ts';
import type { KernelName } from '../../../../runtime/device/kernel-names.ts';
import type { KernelFactory } from '../../../../runtime/device/kernel-op.ts';
import { sizeOf } from '../../../../runtime/spec/shape.ts';

/** Counter-based random numbers, from any position in the stream. */
export const replacingMethods = hostMethods({
  /** Writes random numbers from position `offset` of the stream on; a partial block is drawn separately and copied. */
  random(
    isNormal: number,
    at: number,
    size: number,
    seed: number,
    offset: number,
    scratch: number,
    uniform: GeneratedKernel,
    normal?: GeneratedKernel,
  ): void {
    const end = offset + size;
    const draw = (to: number, block: number, count: number) => {
      const high = Math.floor(block / 2 ** 32) | 0;
      uniform(to, count, block | 0, high, seed | 0, Math.floor(seed / 2 ** 32) | 0);
      if (isNormal) normal!(to, count * 2);
    };
    const part = (from: number, to: number) => {
      if (to <= from) return;
      const block = Math.floor(from / 4);
      draw(scratch, block, 1);
      const first = scratch / 4 + from - block * 4;
      this.i32.copyWithin(at / 4 + from - offset, first, first + to - from);
    };
    const whole = Math.min(Math.ceil(offset / 4) * 4, end);
    const wholeEnd = Math.max(Math.floor(end / 4) * 4, whole);
    part(offset, whole);
    if (wholeEnd > whole) draw(at + (whole - offset) * 4, whole / 4, (wholeEnd - whole) / 4);
    part(wholeEnd, end);
  },

  /** One block of Philox4x32-10. */
  words(seed: number, block: number): Int32Array {
    const high = (a: number, b: number) => {
      const middle = (a >>> 16) * (b & 0xffff) + (((a & 0xffff) * (b & 0xffff)) >>> 16);
      const carry = (a & 0xffff) * (b >>> 16) + (middle & 0xffff);
      return ((a >>> 16) * (b >>> 16) + Math.floor(middle / 65536) + Math.floor(carry / 65536)) | 0;
    };
    let [c0, c1, c2, c3] = [block | 0, Math.floor(block / 2 ** 32) | 0, 0, 0];
    let [k0, k1] = [seed | 0, Math.floor(seed / 2 ** 32) | 0];
    for (let round = 0; round < 10; round++) {
      const [high0, high1] = [high(0xd2511f53, c0), high(0xcd9e8d57, c2)];
      [c1, c3] = [c1 ^ k0 ^ high1, c3 ^ k1 ^ high0];
      [c0, c1, c2, c3] = [c1, Math.imul(0xcd9e8d57, c2), c3, Math.imul(0xd2511f53, c0)];
      k0 = (k0 + 0x9e3779b9) | 0;
      k1 = (k1 + 0xbb67ae85) | 0;
    }
    return Int32Array.of(c0, c1, c2, c3);
  },

  /** Two words per element; normal numbers in pairs. */
  randomDoubles(isNormal: number, at: number, size: number, seed: number, offset: number): void {
    const number = (position: number) => {
      const word = (at: number) => this.words(seed, Math.floor(at / 4))[at % 4]!;
      return ((word(position) >>> 5) * 2 ** 26 + (word(position + 1) >>> 6)) / 2 ** 53;
    };
    for (let i = 0; i < size; i += 2) {
      let pair = [number(offset + i * 2), number(offset + i * 2 + 2)];
      if (isNormal) {
        const radius = Math.sqrt(-2 * Math.log(1 - pair[0]!));
        const angle = 2 * Math.PI * pair[1]!;
        pair = [radius * Math.cos(angle), radius * Math.sin(angle)];
      }
      for (let k = 0; k < 2 && i + k < size; k++) this.f64[at + i + k] = pair[k]!;
    }
  },
});

const random =
  (isNormal: 0 | 1): KernelFactory =>
  (_inputs, [out], attrs) => {
    expectContiguous(out!);
    const size = sizeOf(out!.shape);
    const { uniform, normal } = randomKernels();
    return (_sources, [target], now = attrs) => {
      const stream = [now.seed as number, now.offset as number] as const;
      if (out!.dtype === 'float64') {
        const at = indexOf(target!, 'float64');
        hostCalls.call(replacingMethods, 'randomDoubles', [isNormal, at, size, ...stream]);
        return;
      }
      const args = [isNormal, addressOf(target!, 'float32'), size, ...stream, panelAAt] as const;
      const kernels = isNormal ? ([uniform, normal] as const) : ([uniform] as const);
      hostCalls.call(replacingMethods, 'random', [...args, ...kernels]);
    };
  };

/** Kernels that replace the device's kernels in a recording, since they depend on the stream. */
export const replacingKernels: { readonly [N in KernelName]?: KernelFactory } = {
  uniform: random(0),
  normal: random(1),
};
