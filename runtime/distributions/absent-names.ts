/**
 * PyTorch's names of members, which throw what to write instead. A base class, since bundlers leave out a class that
 * nothing uses, but not a statement that defines properties of it.
 */

import { absentProperty } from '../errors/absent-names.ts';

const camel = (snake: string, name: string): never =>
  absentProperty('Distribution', snake, `names are camel case: ${name}`);

export class DistributionNames {
  get log_prob(): never {
    return camel('log_prob', 'logProb(value)');
  }

  get batch_shape(): never {
    return camel('batch_shape', 'batchShape');
  }

  get event_shape(): never {
    return camel('event_shape', 'eventShape');
  }

  get has_rsample(): never {
    return camel('has_rsample', 'hasRsample');
  }

  get enumerate_support(): never {
    return camel('enumerate_support', 'enumerateSupport()');
  }
}
