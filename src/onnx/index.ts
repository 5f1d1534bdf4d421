/** ONNX models as modules. Their operators are run by tensor methods. */

import '../../runtime/setup.ts';

export { type ModelInput, OnnxModule } from '../../runtime/onnx/model.ts';
export { importOnnx } from './import.ts';
