/** Names that users of PyTorch type first: each is there, or an error says what to write. */

import { describe, expect, it } from 'vitest';
import { absentModuleMethods } from '../../runtime/nn/module/absent-methods.ts';
import { absentMethods } from '../../runtime/tensor-methods/absent-methods.ts';
import * as tostatic from '../../src/index.ts';

const words = (text: string): string[] => text.trim().split(/\s+/).map(camelCase);
const camelCase = (name: string) =>
  name.replace(/_([a-z0-9])/g, (_, next: string) => next.toUpperCase());
const missing = (from: object, names: string): string[] =>
  words(names).filter((name) => !(name in from));

const tensorNames = `
  abs abs_ acos add add_ addcdiv addcdiv_ addcmul addcmul_ addmm all allclose amax amin any argmax argmin
  argsort atan atan2 backward baddbmm bernoulli bernoulli_ bfloat16 bmm bool broadcast_to byte ceil chunk clamp
  clamp_ clip clone contiguous copy_ cos count_nonzero cpu cross cummax cumprod cumsum data detach device diag
  diagonal diff dim dist div div_ dot double dtype element_size eq equal erf exp exp_ expand expand_as expm1
  fill_ fill_diagonal_ flatten flip float floor floor_divide fmod frac gather ge grad gt half index_add
  index_add_ index_copy_ index_fill_ index_put_ index_select int inverse is_contiguous is_floating_point is_leaf
  isclose isfinite isinf isnan item kthvalue le lerp lerp_ log log10 log1p log2 log_softmax logical_and
  logical_not logical_or logsumexp long lt masked_fill masked_fill_ masked_scatter masked_select matmul max
  maximum mean median min minimum mm movedim mul mul_ multinomial mv nan_to_num nansum narrow nbytes ndim ne neg
  nelement new_empty new_full new_ones new_tensor new_zeros nonzero norm normal_ numel outer permute pow pow_
  prod quantile random_ ravel reciprocal register_hook relu relu_ remainder repeat repeat_interleave
  requires_grad requires_grad_ reshape reshape_as retain_grad roll round rsqrt scatter scatter_ scatter_add
  scatter_add_ select shape sigmoid sign sin size softmax sort split split_with_sizes sqrt square squeeze std
  storage_offset stride sub sub_ sum sum_to_size swapaxes T t take take_along_dim tan tanh tensor_split tile to
  tolist topk trace transpose tril triu trunc type_as unbind unflatten unfold uniform_ unique unsqueeze var view
  view_as where xlogy zero_`;

const functionNames = `
  tensor as_tensor is_tensor zeros zeros_like ones ones_like arange linspace eye empty empty_like full full_like
  rand randn randint randperm bernoulli multinomial normal manual_seed seed cat concat concatenate stack hstack
  vstack dstack column_stack row_stack split chunk gather index_select masked_select narrow nonzero permute
  reshape select squeeze unsqueeze take tile transpose unbind where abs add addmm matmul mm bmm mv dot outer
  einsum tensordot exp log sqrt rsqrt pow sin cos tan tanh sigmoid softmax log_softmax relu clamp clip max min
  maximum minimum argmax argmin sum mean median std prod norm cumsum cumprod logsumexp topk sort argsort unique
  bincount searchsorted bucketize meshgrid flip roll tril triu tril_indices triu_indices diag diagonal cross
  cdist isnan isinf isfinite isclose allclose eq ne lt le gt ge logical_and logical_or logical_not all any floor
  ceil round sign no_grad enable_grad is_grad_enabled inference_mode save load Tensor atleast_1d atleast_2d
  atleast_3d broadcast_tensors broadcast_to clone lerp nan_to_num repeat_interleave square trapezoid var_mean
  linear conv1d conv2d conv_transpose2d max_pool2d avg_pool2d adaptive_avg_pool2d scaled_dot_product_attention
  leaky_relu elu gelu silu softplus normalize layer_norm batch_norm group_norm dropout embedding one_hot
  cosine_similarity cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
  binary_cross_entropy_with_logits kl_div pad interpolate pixel_shuffle nn optim`;

const moduleNames = `
  forward parameters named_parameters buffers named_buffers children named_children modules named_modules
  state_dict load_state_dict train eval to cpu float double half bfloat16 zero_grad requires_grad_ apply
  register_forward_hook register_forward_pre_hook register_full_backward_hook get_submodule get_parameter
  get_buffer training`;

describe('the names that PyTorch users type first', () => {
  const x = tostatic.tensor([1]);
  const model = new tostatic.nn.Sequential(
    new tostatic.nn.Linear(2, 3),
    new tostatic.nn.BatchNorm1d(3),
  );

  it('are methods of tensors', () => {
    expect(missing(x, tensorNames)).toEqual([]);
  });

  it('are functions', () => {
    expect(missing(tostatic, functionNames)).toEqual([]);
  });

  it('are methods of modules', () => {
    expect(missing(model, moduleNames)).toEqual([]);
  });

  it.each(Object.entries(absentMethods))('x.%s() says what to write', (name, remedy) => {
    // In TypeScript the call is a type error already.
    const method = (x as unknown as Record<string, () => void>)[name]!;
    expect(() => method.call(x)).toThrow(`Tensor has no method ${name}`);
    expect(() => method.call(x)).toThrow(`remedy:   ${remedy}`);
  });

  it.each(Object.entries(absentModuleMethods))('model.%s() says what to write', (name, remedy) => {
    // One without `forward`.
    const bare = new (class extends tostatic.nn.Module {})();
    const method = (bare as unknown as Record<string, () => void>)[name]!;
    expect(() => method.call(bare)).toThrow(`remedy:   ${remedy}`);
  });

  it('parts of modules are found by their paths', () => {
    expect(model.getSubmodule('0')).toBe(model.at(0));
    expect(model.getSubmodule('')).toBe(model);
    expect(model.getParameter('0.weight').shape).toEqual([3, 2]);
    expect(model.getBuffer('1.runningMean').shape).toEqual([3]);
    expect(() => model.getParameter('0.weights')).toThrow(
      "one of '0.weight', '0.bias', '1.weight'",
    );
    expect(model.double().getParameter('0.bias').dtype).toBe('float64');
    expect(model.float().cpu().getParameter('0.bias').dtype).toBe('float32');
  });
});
