/** A snapshot of the state that a path may change, by location. */

import type { Reg } from '../../../vm/bytecode/instructions.ts';
import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { type DeviceScalar, undefinedVariable, type Variable } from '../../variables/variable.ts';
import { addDisposals, addEffects } from './effect-locations.ts';
import { freezer } from './freeze.ts';
import { addParts } from './object-locations.ts';

/** The state of a location: the variable itself, and a copy that shows what is known about it at this moment. */
export interface LocationState {
  readonly location: Location;
  readonly raw: Variable;
  readonly value: Variable;
}

/** The values of all locations at one point of the trace. */
export type State = ReadonlyMap<string, LocationState>;

/**
 * Reads every location: the registers of the top frame, the contents of the objects in `existing`, and pending
 * effects. Objects created later are copied, so that subsequent changes don't show.
 */
export function stateOf(
  t: Tracer,
  frame: TraceFrame,
  existing: ReadonlySet<Variable>,
  freeze = freezer(existing),
): State {
  const state = new Map<string, LocationState>();
  const add = (location: Location, raw: Variable) => {
    state.set(location.key, { location, raw, value: freeze(raw) });
  };
  frame.registers.forEach((value, reg) => {
    add(registerLocation(frame, reg as Reg), value ?? undefinedVariable);
  });
  for (const variable of existing) addParts(t, variable, add);
  addEffects(t.effects, add);
  add(randomLocation, t.random.position);
  if (t.random.seedValue) add(seedLocation, t.random.seedValue);
  addDisposals(t, add);
  return state;
}

/** The number of random numbers drawn. */
const randomLocation: Location = {
  key: 'random',
  name: 'the stream of random numbers',
  register: null,
  set: (t, value) => {
    t.random.position = value;
  },
};

const seedLocation: Location = {
  key: 'seed',
  name: 'the seed of random numbers',
  register: null,
  set: (t, value) => {
    t.random.seedValue = value as DeviceScalar;
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
