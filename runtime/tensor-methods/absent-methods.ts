/**
 * PyTorch methods that tensors don't have here, with the replacement to write. In TypeScript a call is a type
 * error that shows the text; in JavaScript it throws ArgumentError.
 */
export const absentMethods = {
  cuda: "move it with x.to('gpu') after await init('gpu')",
  numpy: 'read the values: x.data() or x.dataSync() as a typed array, x.tolist() as nested arrays',
  array: 'await x.toArray() gives nested arrays, await x.data() a typed array',
  arraySync: 'x.tolist() gives nested arrays, x.dataSync() a typed array',
  print: 'console.log(x.toString()) prints the values',
  type: "x.dtype is the dtype, and x.to('float32') casts",
  short: 'integers are int32 and uint8: x.int() or x.byte()',
  char: 'integers are int32 and uint8: x.int() or x.byte()',
  bitwiseAnd: 'of boolean tensors it is x.logicalAnd(y); integers have no bitwise operators',
  bitwiseOr: 'of boolean tensors it is x.logicalOr(y); integers have no bitwise operators',
  bitwiseXor: 'of boolean tensors it is x.logicalXor(y); integers have no bitwise operators',
  bitwiseNot: 'of boolean tensors it is x.logicalNot(); integers have no bitwise operators',
  resize_: 'assign a new view: x = x.reshape(sizes)',
  squeeze_: 'assign the view: x = x.squeeze(dim)',
  unsqueeze_: 'assign the view: x = x.unsqueeze(dim)',
  transpose_: 'assign the view: x = x.transpose(a, b)',
  t_: 'assign the view: x = x.t()',
  detach_: 'assign the other handle: x = x.detach()',
  asStrided: 'make the view by its meaning: narrow, slice, select, unfold, diagonal or expand',
  apply_: 'write it with operators on whole tensors, such as where(test, a, b)',
  map_: 'write it with operators on whole tensors, such as where(test, a, b)',
  pinMemory: 'leave it out: data loaders copy batches to the device themselves',
  getDevice: 'x.device is the device, x.device.name its name',
  toSparse: 'tensors are dense; embedding() and indexSelect() read single rows',
} as const;

export type AbsentMethods = typeof absentMethods;
