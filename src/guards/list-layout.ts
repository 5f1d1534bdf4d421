import { sameShape } from '../../runtime/spec/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { lookupGetter } from './inherited-property.ts';

/**
 * Describes the tensors of a plain array as text: in order, how many have each dtype, shape, strides, device and
 * `requiresGrad`. Equal neighbours are counted, so the text of a cache stays short. Undefined if an element is
 * missing, is not a tensor with memory, or if reading it would run a getter.
 */
export function listLayout(array: object): string | undefined {
  const { length } = array as readonly unknown[];
  let text = '';
  let alike: Tensor | undefined;
  let count = 0;
  for (let i = 0; i < length; i++) {
    if (lookupGetter.call(array, i) !== undefined) return undefined;
    const element = (array as readonly unknown[])[i];
    if (!(element instanceof Tensor) || element.holder === null) return undefined;
    if (alike !== undefined && isAlike(alike, element)) {
      count++;
      continue;
    }
    if (alike) text += spelled(alike, count);
    [alike, count] = [element, 1];
  }
  return alike ? text + spelled(alike, count) : text;
}

function isAlike(a: Tensor, b: Tensor): boolean {
  return (
    a.dtype === b.dtype &&
    a.requiresGrad === b.requiresGrad &&
    a.device === b.device &&
    sameShape(a.shape, b.shape) &&
    sameShape(a.strides, b.strides)
  );
}

function spelled(tensor: Tensor, count: number): string {
  const { dtype, shape, strides, device, isContiguous, requiresGrad } = tensor;
  const layout = isContiguous ? '' : ` strides ${strides}`;
  return `${count} × ${dtype}[${shape}]${layout}${requiresGrad ? ' with gradients' : ''} on ${device.name}; `;
}
