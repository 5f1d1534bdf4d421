import { ArgumentError } from '../errors/errors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution } from './distribution.ts';

const kind = that('a distribution', (value) => value instanceof Distribution);

/**
 * Returns the Kullback-Leibler divergence KL(p ‖ q) of distributions of one family. Throws ArgumentError for others:
 * estimate it from samples, `p.logProb(x).sub(q.logProb(x)).mean()`.
 */
export function klDivergence(p: Distribution, q: Distribution): Tensor {
  expectArguments('klDivergence', { p, q }, { p: kind, q: kind });
  const found = p.divergenceTo(q);
  if (found) return found;
  throw new ArgumentError({
    what: 'klDivergence: no closed form',
    given: `${p.constructor.name} and ${q.constructor.name}`,
    expected: 'two distributions of one family, with the same counts and dimensions',
    remedy: 'estimate it: const x = p.sample([1000]); p.logProb(x).sub(q.logProb(x)).mean(0)',
  });
}
