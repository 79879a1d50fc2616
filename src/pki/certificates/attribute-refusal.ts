import { AppError, type ErrorCode, type ErrorDetail } from '../../errors.js';

/** A fault of one attribute of a JSON:API document. */
export function attributeFault(name: string, detail: string, code?: ErrorCode): ErrorDetail {
  const source = { pointer: `/data/attributes/${name}` };
  return { detail, source, code };
}

/** All faults as one 422, with the code of the faults if they have the same. */
export function refusal(faults: ErrorDetail[]): AppError {
  const [code = 'validation_failed', ...others] = new Set(
    faults.map((fault) => fault.code ?? 'validation_failed'),
  );
  const message = faults.map((fault) => fault.detail).join('; ');
  const common = others.length === 0 ? code : 'validation_failed';
  return new AppError(common, 422, message, {
    details: faults.map((fault) => ({ ...fault, code: fault.code ?? 'validation_failed' })),
  });
}
