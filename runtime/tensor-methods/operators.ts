import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError } from '../errors/errors.ts';
import { Tensor } from '../tensor/tensor.ts';
import { formatTensor } from './format.ts';

/** Rejects JavaScript operators: `x + 1` would silently concatenate strings. The error names the method to use. */
Object.defineProperty(Tensor.prototype, Symbol.toPrimitive, {
  value(this: Tensor, hint: 'default' | 'number' | 'string'): string {
    if (hint === 'string') return formatTensor(this);
    throw new ArgumentError({
      what: 'an operator of JavaScript on a tensor',
      given: `a ${formatSpec(this)} tensor as an operand of +, -, *, /, < or the like`,
      expected: 'numbers: JavaScript has no operators for tensors',
      remedy: 'call the method: x.add(1), x.mul(y), x.lt(0); for one value x.itemSync()',
    });
  },
  configurable: true,
});
