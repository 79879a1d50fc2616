import type { Request, RequestHandler } from 'express';
import { AppError } from '../../errors.js';
import { type UploadOptions, upload, uploadedFile, uploader } from './uploads.js';

export interface FileBodyOptions extends UploadOptions {
  /** Media types under which the body is the file itself; one without a type is, too. */
  types: readonly string[];
  /** Whether a body that says it is a form is the file: curl says so of whatever it is not told of. */
  isMislabelled(body: Buffer): boolean;
}

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

const files = new WeakMap<Request, Buffer>();

/**
 * Takes one file as the field of a form (multipart/form-data), or as the body itself; `sentFile` gives
 * its bytes. AppError 415 for other bodies, 413 above the limit.
 */
export function fileBody(options: FileBodyOptions): RequestHandler {
  const form = upload(options);
  return async (req, res, next) => {
    const type = mediaTypeOf(req);
    if (type === MULTIPART) {
      await form(req, res, next);
      return;
    }
    if (type !== '' && type !== FORM && !options.types.includes(type)) throw otherType(options);
    if ((req.headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw new AppError('unsupported_media_type', 415, 'the body must not be compressed');
    }
    const body = await options.bodies.read(req, options.maxBytes, uploader(res));
    if (type === FORM && !options.isMislabelled(body)) throw otherType(options);
    files.set(req, body);
    next();
  };
}

/** The bytes of the file that `fileBody` took. */
export function sentFile(req: Request): Buffer {
  return files.get(req) ?? uploadedFile(req);
}

function mediaTypeOf({ headers }: Request): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function otherType({ field, types }: FileBodyOptions): AppError {
  const message =
    `send the file as the field ${field} of multipart/form-data (curl -F ${field}=@FILE), or as the ` +
    `body with Content-Type ${types[0]} (curl --data-binary @FILE)`;
  return new AppError('unsupported_media_type', 415, message);
}
