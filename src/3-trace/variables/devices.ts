import type { Device } from '../../../runtime/device/device.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Tracer } from '../state/tracer.ts';
import type { Variable } from './variable.ts';

/** Returns the device that a variable holds, on which the trace then depends. */
export function deviceOf(t: Tracer, variable: Variable): Device | undefined {
  // The same test as in `deviceGuard`.
  if (variable.kind !== 'object' || !('allocator' in variable.value)) return undefined;
  const { source, value } = variable;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  return value as Device;
}
