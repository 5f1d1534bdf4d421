/** Loads the devices, the methods that tensors have in every entry point, and traces requested by the environment. */

import './device/cpu/cpu-device.ts';
import './device/meta/meta-device.ts';
import './tensor-methods/base-methods.ts';
import './tensor-methods/operators.ts';
import './trace-log/from-environment.ts';
