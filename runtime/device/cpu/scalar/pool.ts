import { sizeOf } from '../../../tensor/shape.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory, pairAttr } from '../kernel.ts';

/** Windows are clipped to the plane: padding never wins. */
export const maxPool2d: KernelFactory = ([x], [out], attrs) => {
  expectContiguous(x!, out!);
  const [height, width] = [x!.shape[2]!, x!.shape[3]!];
  const [outHeight, outWidth] = [out!.shape[2]!, out!.shape[3]!];
  const planes = x!.shape[0]! * x!.shape[1]!;
  const [kernelHeight, kernelWidth] = pairAttr(attrs, 'kernel');
  const [strideH, strideW] = pairAttr(attrs, 'stride');
  const [padH, padW] = pairAttr(attrs, 'padding');
  const { dtype } = x!;
  return ([source], [target, indices]) => {
    const data = heap.view(dtype);
    const places = heap.i32;
    let from = indexOf(source!, dtype);
    let to = indexOf(target!, dtype);
    let place = indexOf(indices!, 'int32');
    for (let plane = 0; plane < planes; plane++, from += height * width) {
      for (let oh = 0; oh < outHeight; oh++) {
        const top = Math.max(oh * strideH - padH, 0);
        const bottom = Math.min(oh * strideH - padH + kernelHeight, height);
        for (let ow = 0; ow < outWidth; ow++) {
          const left = Math.max(ow * strideW - padW, 0);
          const right = Math.min(ow * strideW - padW + kernelWidth, width);
          let best = top * width + left;
          let value = data[from + best]!;
          for (let h = top; h < bottom; h++) {
            for (let w = left; w < right; w++) {
              const candidate = data[from + h * width + w]!;
              // NaN wins, and the first of equals.
              if (candidate > value || (Number.isNaN(candidate) && !Number.isNaN(value))) {
                value = candidate;
                best = h * width + w;
              }
            }
          }
          data[to++] = value;
          places[place++] = best;
        }
      }
    }
  };
};

export const maxPool2dGrad: KernelFactory = ([dy, , x], [dx]) => {
  expectContiguous(dy!, dx!);
  const planeSize = x!.shape[2]! * x!.shape[3]!;
  const outPlane = dy!.shape[2]! * dy!.shape[3]!;
  const planes = x!.shape[0]! * x!.shape[1]!;
  const size = sizeOf(x!.shape);
  const { dtype } = dx!;
  return ([grad, indices], [target]) => {
    const data = heap.view(dtype);
    const places = heap.i32;
    let from = indexOf(grad!, dtype);
    let place = indexOf(indices!, 'int32');
    let to = indexOf(target!, dtype);
    data.fill(0, to, to + size);
    for (let plane = 0; plane < planes; plane++, to += planeSize) {
      for (let i = 0; i < outPlane; i++) {
        const at = to + places[place++]!;
        data[at] = data[at]! + data[from++]!;
      }
    }
  };
};
