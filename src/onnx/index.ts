/** Models of ONNX as modules. Their operators are run by the methods of tensors. */

import '../../runtime/setup.ts';

export { type ModelInput, OnnxModule } from '../../runtime/onnx/model.ts';
export { importOnnx } from './import.ts';
