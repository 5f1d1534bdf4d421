import { noGrad } from '../../autograd/grad-mode.ts';
import { ShapeError } from '../../errors/errors.ts';
import { copy_ } from '../../ops/in-place/in-place.ts';
import { cat } from '../../ops/movement/joining.ts';
import { narrow, reshape } from '../../ops/movement/movement.ts';
import { expectTensors } from '../../ops/record/expect-tensors.ts';
import { sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { parametersIn } from './parameters-in.ts';

/** Concatenates all elements of the parameters into a vector [n]. Gradients flow through. */
export function parametersToVector(parameters: Iterable<Tensor>): Tensor {
  return tidy(() =>
    cat(parametersIn('parametersToVector', parameters).map((each) => reshape(each, [-1]))),
  );
}

/** Copies a vector [n] into the parameters, which have n elements in total. Throws ShapeError if the sizes differ. */
export function vectorToParameters(vector: Tensor, parameters: Iterable<Tensor>): void {
  expectTensors('vectorToParameters', vector);
  const targets = parametersIn('vectorToParameters', parameters);
  const count = targets.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  if (vector.rank !== 1 || vector.shape[0] !== count) {
    throw new ShapeError({
      what: 'vectorToParameters: not the elements of these parameters',
      given: `[${vector.shape.join(',')}]`,
      expected: `[${count}], for ${targets.length} parameters`,
      remedy: 'pass what parametersToVector() returns for the same parameters',
    });
  }
  let start = 0;
  noGrad(() =>
    tidy(() => {
      for (const target of targets) {
        const size = sizeOf(target.shape);
        copy_(target, reshape(narrow(vector, 0, start, size), target.shape));
        start += size;
      }
    }),
  );
}
