import type { Request, RequestHandler, Response } from 'express';
import multer from 'multer';
import { AppError } from '../../errors.js';
import { contextOf } from '../requests/request-context.js';
import type { BodyReader } from './body-reader.js';

export interface UploadOptions {
  /** Name of the one field there may be. */
  field: string;
  /** Of the file. */
  maxBytes: number;
  bodies: BodyReader;
}

/** Boundaries and the headers of the part. */
const ENVELOPE_BYTES = 64 * 1024;
const MULTIPART = /^multipart\/form-data\s*(;|$)/i;

/** Takes what was read of the request already; the types do not know the option. */
interface BufferedOptions extends multer.Options {
  streamHandler(req: Request, parser: NodeJS.WritableStream): void;
}

/**
 * Takes a multipart/form-data body with one file in one field; `uploadedFile` gives its bytes.
 * AppError 415 for other bodies, 413 above the limit, 400 for whatever is no such body.
 */
export function upload({ field, maxBytes, bodies: reader }: UploadOptions): RequestHandler {
  // Read before it is parsed, so that a body without an end or cut off never gets to the parser.
  const bodies = new WeakMap<Request, Buffer>();
  const options: BufferedOptions = {
    storage: multer.memoryStorage(),
    limits: {
      ...{ files: 1, fields: 0, parts: 1, headerPairs: 20 },
      ...{ fileSize: maxBytes, fieldNameSize: 100, fieldSize: 0 },
    },
    streamHandler: (req, parser) => void parser.end(bodies.get(req) ?? Buffer.alloc(0)),
  };
  const parse = multer(options).single(field);
  return async (req, res, next) => {
    checkType(req, field);
    bodies.set(req, await reader.read(req, maxBytes + ENVELOPE_BYTES, uploader(res)));
    parse(req, res, (error: unknown) => {
      bodies.delete(req);
      if (error) next(refusal(error, { field, maxBytes }));
      else next(req.file ? undefined : invalid(`there is no file in it; ${wanted(field)}`));
    });
  };
}

/** The sender that an upload counts for: it is authenticated before it is read. */
export function uploader(res: Response): string {
  return `token ${contextOf(res).actor.name}`;
}

/** The bytes of the file that `upload` took. */
export function uploadedFile({ file }: Request): Buffer {
  if (file === undefined) throw new Error('no upload was taken');
  return file.buffer;
}

function wanted(field: string): string {
  return `send multipart/form-data with the file in the field ${field}`;
}

function checkType({ headers }: Request, field: string): void {
  if (!MULTIPART.test(headers['content-type'] ?? '')) {
    throw new AppError('unsupported_media_type', 415, wanted(field));
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new AppError('unsupported_media_type', 415, 'the body must not be compressed');
  }
}

function invalid(detail: string, cause?: unknown): AppError {
  return new AppError('invalid_multipart', 400, `not the body expected: ${detail}`, { cause });
}

function refusal(error: unknown, { field, maxBytes }: Omit<UploadOptions, 'bodies'>): AppError {
  if (!(error instanceof multer.MulterError)) {
    return invalid('it is malformed or cut off', error);
  }
  switch (error.code) {
    case 'LIMIT_FILE_SIZE':
      return new AppError('payload_too_large', 413, `the file is larger than ${maxBytes} bytes`);
    case 'LIMIT_UNEXPECTED_FILE':
    case 'LIMIT_FILE_COUNT':
    case 'LIMIT_PART_COUNT':
      return invalid(`one file, and no other field: ${wanted(field)}`, error);
    default:
      return invalid(`a field that is no file: ${wanted(field)}, with a filename`, error);
  }
}
