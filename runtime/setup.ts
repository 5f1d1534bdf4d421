/**
 * Everything that a published entry point with tensors needs at run time: devices, methods, traces that were asked for.
 */

import './device/cpu/cpu-device.ts';
import './device/meta/meta-device.ts';
import './tensor-methods/methods.ts';
import './tensor-methods/operators.ts';
import './trace-log/from-environment.ts';
