/**
 * PyTorch's methods that tensors lack here, with what to write instead. In TypeScript a call is a type error that shows
 * the text; in JavaScript it throws ArgumentError.
 */
export const absentMethods = {
  cuda: "move it with x.to('gpu') after await init('gpu')",
  numpy: 'read the values: x.data() or x.dataSync() as a typed array, x.tolist() as nested arrays',
  array: 'await x.toArray() gives nested arrays, await x.data() a typed array',
  arraySync: 'x.tolist() gives nested arrays, x.dataSync() a typed array',
  print: 'console.log(x.toString()) prints the values',
  type: "x.dtype is the dtype, and x.to('float32') casts",
  astype: "x.to('float32') casts",
  asType: "x.to('float32') casts",
  short: 'integers are int32 and uint8: x.int() or x.byte()',
  char: 'integers are int32 and uint8: x.int() or x.byte()',
  bitwiseAnd: 'it is a function: bitwiseAnd(x, y), and x.logicalAnd(y) of boolean tensors',
  bitwiseOr: 'it is a function: bitwiseOr(x, y), and x.logicalOr(y) of boolean tensors',
  bitwiseXor: 'it is a function: bitwiseXor(x, y), and x.logicalXor(y) of boolean tensors',
  bitwiseNot: 'it is a function: bitwiseNot(x), and x.logicalNot() of boolean tensors',
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
