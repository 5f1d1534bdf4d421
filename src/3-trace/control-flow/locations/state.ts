/** The state that a path may change, location by location. */

import type { Reg } from '../../../vm/bytecode/instructions.ts';
import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { undefinedVariable, type Variable } from '../../variables/variable.ts';
import { addDisposals, addEffects } from './effect-locations.ts';
import { freezer } from './freeze.ts';
import { addParts } from './object-locations.ts';

/** The state of a location: the variable itself, and the facts known about it at the moment. */
export interface LocationState {
  readonly location: Location;
  readonly raw: Variable;
  readonly value: Variable;
}

/** The values of all locations at one moment. */
export type State = ReadonlyMap<string, LocationState>;

/**
 * Reads every location: the registers of the top frame, the content of the objects in `made`, and what is
 * to be written after the run. Objects made since are copied, so that later changes don't show.
 */
export function stateOf(
  t: Tracer,
  frame: TraceFrame,
  made: ReadonlySet<Variable>,
  freeze = freezer(made),
): State {
  const state = new Map<string, LocationState>();
  const add = (location: Location, raw: Variable) => {
    state.set(location.key, { location, raw, value: freeze(raw) });
  };
  frame.registers.forEach((value, reg) => {
    add(registerLocation(frame, reg as Reg), value ?? undefinedVariable);
  });
  for (const variable of made) addParts(t, variable, add);
  addEffects(t.effects, add);
  add(randomLocation, t.random.position);
  addDisposals(t, add);
  return state;
}

/** How many random numbers were drawn. */
const randomLocation: Location = {
  key: 'random',
  name: 'the stream of random numbers',
  register: null,
  set: (t, value) => {
    t.random.position = value;
  },
};

function registerLocation(frame: TraceFrame, register: Reg): Location {
  return {
    key: `register ${register}`,
    name: frame.closure.code.registerNames[register] ?? 'a value',
    register,
    set: (_t, value) => {
      frame.registers[register] = value;
    },
  };
}
