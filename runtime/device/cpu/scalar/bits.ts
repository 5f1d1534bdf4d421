import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** Multiplying by this moves the lowest bits of four bytes into the highest byte, side by side. */
const gather = 0x01020408;

/** The bytes of four bits. */
const spread = Int32Array.from({ length: 16 }, (_, four) =>
  [0, 1, 2, 3].reduce((word, i) => word | (((four >> i) & 1) << (8 * i)), 0),
);

export const packBits: KernelFactory = ([x], [bits]) => {
  expectContiguous(x!, bits!);
  const size = sizeOf(x!.shape);
  return ([source], [target]) => {
    const bytes = heap.view('bool');
    const from = indexOf(source!, 'bool');
    const out = heap.u8;
    let to = indexOf(target!, 'uint8');
    let done = 0;
    // A view may start at any byte; words start at every fourth.
    if (from % 4 === 0) {
      const words = heap.i32;
      for (let at = from >>> 2; done + 8 <= size; done += 8, at += 2) {
        const low = Math.imul(words[at]!, gather) >>> 24;
        const high = Math.imul(words[at + 1]!, gather) >>> 24;
        out[to++] = low | (high << 4);
      }
    }
    for (; done < size; done += 8) {
      let byte = 0;
      for (let i = done; i < Math.min(done + 8, size); i++) byte |= bytes[from + i]! << (i - done);
      out[to++] = byte;
    }
  };
};

export const unpackBits: KernelFactory = ([bits], [out]) => {
  expectContiguous(bits!, out!);
  const size = sizeOf(out!.shape);
  return ([source], [target]) => {
    const bytes = heap.view('bool');
    let from = indexOf(source!, 'uint8');
    const to = indexOf(target!, 'bool');
    let done = 0;
    if (to % 4 === 0) {
      const words = heap.i32;
      for (let at = to >>> 2; done + 8 <= size; done += 8, at += 2) {
        const byte = bytes[from++]!;
        words[at] = spread[byte & 15]!;
        words[at + 1] = spread[byte >> 4]!;
      }
    }
    for (; done < size; done += 8) {
      const byte = bytes[from++]!;
      for (let i = done; i < Math.min(done + 8, size); i++)
        bytes[to + i] = (byte >> (i - done)) & 1;
    }
  };
};
