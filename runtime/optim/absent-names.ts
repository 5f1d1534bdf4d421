/**
 * Members with PyTorch's names that throw an error saying what to write instead. They are in base classes, because
 * bundlers drop an unused class, but not a statement that defines its properties. The types don't declare them.
 */

import { absentProperty } from '../errors/absent-names.ts';

const camel = (owner: string, snake: string, name: string): never =>
  absentProperty(owner, snake, `names are camel case: ${name}`);

/** Names of optimizers. */
export class OptimizerNames {
  get zero_grad(): never {
    return camel('Optimizer', 'zero_grad', 'zeroGrad()');
  }

  get param_groups(): never {
    return camel('Optimizer', 'param_groups', 'paramGroups');
  }

  get add_param_group(): never {
    return camel('Optimizer', 'add_param_group', 'addParamGroup()');
  }

  get state_dict(): never {
    return camel('Optimizer', 'state_dict', 'stateDict()');
  }

  get load_state_dict(): never {
    return camel('Optimizer', 'load_state_dict', 'loadStateDict()');
  }
}

/** Names of schedules of any kind. */
export class ScheduleNames {
  get get_last_lr(): never {
    return camel('a schedule', 'get_last_lr', 'getLastLr()');
  }

  get state_dict(): never {
    return camel('a schedule', 'state_dict', 'stateDict()');
  }

  get load_state_dict(): never {
    return camel('a schedule', 'load_state_dict', 'loadStateDict()');
  }
}

/** Names of schedules that compute their rates. */
export class RateNames extends ScheduleNames {
  get get_lr(): never {
    return absentProperty('a schedule', 'get_lr', 'getLastLr() returns the current rates');
  }

  get last_epoch(): never {
    return absentProperty('a schedule', 'last_epoch', 'the property epoch counts the steps');
  }
}
