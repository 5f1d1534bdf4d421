import { blockSize, type QuantizationCode } from '../../../numerics/quantization.ts';
import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** The values of the codes, ascending, and tables for finding the nearest one. */
interface CodeTable {
  readonly values: Float32Array;
  /** Midpoints between adjacent values: a value above the midpoint after code c has a higher code than c. */
  readonly halves: Float32Array;
  /** The code of the smallest value whose upper 16 bits are the index. */
  readonly first: Uint8Array;
}

const decades = 7;

function valuesOf(code: QuantizationCode): Float32Array {
  if (code === 'linear') return Float32Array.from({ length: 256 }, (_, i) => (i - 128) / 127);
  const values = [0, 1];
  for (let decade = 0; decade < decades; decade++) {
    const steps = 2 ** (code === 'signed' ? decade : decade + 1);
    const top = 10 ** (decade + 1 - decades);
    for (let i = 0; i < steps; i++) {
      const middle = top * (0.1 + (0.9 * (i + 0.5)) / steps);
      values.push(middle);
      if (code === 'signed') values.push(-middle);
    }
  }
  return Float32Array.from(values).sort();
}

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

function tableOf(code: QuantizationCode): CodeTable {
  const values = valuesOf(code);
  const halves = new Float32Array(256).fill(Number.POSITIVE_INFINITY);
  for (let i = 0; i < 255; i++) halves[i] = (values[i]! + values[i + 1]!) / 2;
  // Only 0 is coded as 0: steps divide by these averages of squares.
  if (code === 'unsigned') halves[0] = 0;
  const first = new Uint8Array(2 ** 16);
  for (let upper = 0; upper < first.length; upper++) {
    // Of negative values, the one with all lower bits set is the smallest.
    bits[0] = upper * 2 ** 16 + (upper < 2 ** 15 ? 0 : 0xffff);
    let found = 0;
    while (float[0]! > halves[found]!) found++;
    first[upper] = found;
  }
  return { values, halves, first };
}

const tables = new Map<QuantizationCode, CodeTable>();

function tableFor(code: QuantizationCode): CodeTable {
  const known = tables.get(code);
  if (known) return known;
  const table = tableOf(code);
  tables.set(code, table);
  return table;
}

export const quantize: KernelFactory = ([x], [codes], attrs) => {
  expectContiguous(x!, codes!);
  const size = sizeOf(x!.shape);
  const { halves, first } = tableFor(attrs.code as QuantizationCode);
  return ([source], [target, scales]) => {
    const values = heap.view('float32');
    const bytes = heap.view('uint8');
    const from = indexOf(source!, 'float32');
    const to = indexOf(target!, 'uint8');
    let scale = indexOf(scales!, 'float32');
    for (let start = 0; start < size; start += blockSize) {
      const end = Math.min(start + blockSize, size);
      let largest = 0;
      // Math.max propagates NaN.
      for (let i = start; i < end; i++) largest = Math.max(largest, Math.abs(values[from + i]!));
      const isBounded = largest < Number.POSITIVE_INFINITY;
      values[scale++] = isBounded ? largest : Number.NaN;
      const factor = isBounded && largest > 0 ? 1 / largest : 0;
      for (let i = start; i < end; i++) {
        float[0] = isBounded ? values[from + i]! * factor : 0;
        const share = float[0]!;
        let code = first[bits[0]! >>> 16]!;
        while (share > halves[code]!) code++;
        bytes[to + i] = code;
      }
    }
  };
};

export const dequantize: KernelFactory = ([codes], [out], attrs) => {
  expectContiguous(codes!, out!);
  const size = sizeOf(out!.shape);
  const { values: shares } = tableFor(attrs.code as QuantizationCode);
  return ([source, scales], [target]) => {
    const values = heap.view('float32');
    const bytes = heap.view('uint8');
    const from = indexOf(source!, 'uint8');
    const to = indexOf(target!, 'float32');
    let at = indexOf(scales!, 'float32');
    for (let start = 0; start < size; start += blockSize) {
      const end = Math.min(start + blockSize, size);
      const scale = values[at++]!;
      for (let i = start; i < end; i++) values[to + i] = shares[bytes[from + i]!]! * scale;
    }
  };
};
