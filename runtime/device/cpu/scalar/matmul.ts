import { dtypes } from '../../../spec/dtype.ts';
import { heap } from '../core/heap.ts';
import { indexOf, type KernelFactory } from '../core/kernel.ts';
import { collapse, walk } from '../core/loops.ts';

/** Three loops with sums in the operands' dtype; any strides. */
export const matmul: KernelFactory = ([a, b], [out]) => {
  const { dtype } = out!;
  const round = dtype === 'float64' ? (value: number) => value : Math.fround;
  // Wraps modulo 2^32, like all integer arithmetic.
  const isWhole = !dtypes[dtype].floating;
  const rank = out!.shape.length;
  const [m, n] = [out!.shape[rank - 2]!, out!.shape[rank - 1]!];
  const k = a!.shape[rank - 1]!;
  const [aRow, aColumn] = [a!.strides[rank - 2]!, a!.strides[rank - 1]!];
  const [bRow, bColumn] = [b!.strides[rank - 2]!, b!.strides[rank - 1]!];
  const batch = collapse(out!.shape.slice(0, -2), [
    a!.strides.slice(0, -2),
    b!.strides.slice(0, -2),
    out!.strides.slice(0, -2),
  ]);
  return ([left, right], [target]) => {
    const data = heap.view(dtype);
    const at = [left!, right!, target!].map((operand) => indexOf(operand, dtype));
    walk(batch, at, () => {
      const [fromA, fromB, to] = at as [number, number, number];
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = 0;
          let x = fromA + i * aRow;
          let y = fromB + j * bColumn;
          for (let p = 0; p < k; p++) {
            sum = isWhole
              ? (sum + Math.imul(data[x]!, data[y]!)) | 0
              : round(sum + round(data[x]! * data[y]!));
            x += aColumn;
            y += bRow;
          }
          data[to + i * n + j] = sum;
        }
      }
    });
  };
};
