import type { Request, RequestHandler, Response } from 'express';
import multer from 'multer';
import { AppError } from '../../errors.js';
import { contextOf } from '../requests/request-context.js';
import type { BodyReader } from './body-reader.js';

export interface UploadOptions {
  /** Name of the only field allowed. */
  field: string;
  /** Maximum size of the file. */
  maxBytes: number;
  bodies: BodyReader;
}

export interface FileBodyOptions extends UploadOptions {
  /** Media types under which the body is the file itself; a body without a type is accepted too. */
  types: readonly string[];
  /** Whether a body labelled as a form is really the file: curl labels `--data-binary` so. */
  isMislabelled(body: Buffer): boolean;
}

/** Boundaries and the headers of the part. */
const ENVELOPE_BYTES = 64 * 1024;
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

/** The types of multer lack this option: it writes a body that was already read to the parser. */
interface BufferedOptions extends multer.Options {
  streamHandler(req: Request, parser: NodeJS.WritableStream): void;
}

/** Bodies that are the file themselves. */
const files = new WeakMap<Request, Buffer>();

/**
 * Reads a multipart/form-data body with one file in one field; `uploadedFile` returns its bytes.
 * AppError 415 for other media types, 413 above the limit, 400 for a malformed body.
 */
export function upload({ field, maxBytes, bodies: reader }: UploadOptions): RequestHandler {
  // Read before it is parsed, so that a body without an end or cut off never reaches the parser.
  const bodies = new WeakMap<Request, Buffer>();
  const options: BufferedOptions = {
    storage: multer.memoryStorage(),
    limits: {
      files: 1,
      fields: 0,
      parts: 1,
      headerPairs: 20,
      fileSize: maxBytes,
      fieldNameSize: 100,
      fieldSize: 0,
    },
    streamHandler: (req, parser) => void parser.end(bodies.get(req) ?? Buffer.alloc(0)),
  };
  const parse = multer(options).single(field);
  return async (req, res, next) => {
    if (mediaTypeOf(req) !== MULTIPART) throw unsupported(useForm(field));
    refuseCompressed(req);
    bodies.set(req, await reader.read(req, maxBytes + ENVELOPE_BYTES, uploadSender(res)));
    parse(req, res, (error: unknown) => {
      bodies.delete(req);
      if (error) next(uploadError(error, { field, maxBytes }));
      else next(req.file ? undefined : invalid(`there is no file in it; ${useForm(field)}`));
    });
  };
}

/**
 * Reads one file, from a form as `upload` does or as the body itself; `uploadedFile` returns its
 * bytes. AppError 415 for other media types, 413 above the limit.
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
    refuseCompressed(req);
    const body = await options.bodies.read(req, options.maxBytes, uploadSender(res));
    if (type === FORM && !options.isMislabelled(body)) throw otherType(options);
    files.set(req, body);
    next();
  };
}

/** The bytes of the file that `upload` or `fileBody` read. */
export function uploadedFile(req: Request): Buffer {
  const file = files.get(req) ?? req.file?.buffer;
  if (file === undefined) throw new Error('no middleware has read an upload');
  return file;
}

/** The sender whose share of memory an upload counts against: it authenticates before. */
export function uploadSender(res: Response): string {
  return `token ${contextOf(res).actor.name}`;
}

function mediaTypeOf({ headers }: Request): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function refuseCompressed({ headers }: Request): void {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw unsupported('the body must not be compressed');
  }
}

function unsupported(message: string): AppError {
  return new AppError('unsupported_media_type', 415, message);
}

function otherType({ field, types }: FileBodyOptions): AppError {
  return unsupported(
    `send the file as the field ${field} of multipart/form-data (curl -F ${field}=@FILE), or as the ` +
      `body with Content-Type ${types[0]} (curl --data-binary @FILE)`,
  );
}

function useForm(field: string): string {
  return `send multipart/form-data with the file in the field ${field}`;
}

function invalid(detail: string, cause?: unknown): AppError {
  return new AppError('invalid_multipart', 400, `not the body expected: ${detail}`, { cause });
}

function uploadError(error: unknown, { field, maxBytes }: Omit<UploadOptions, 'bodies'>): AppError {
  if (!(error instanceof multer.MulterError)) {
    return invalid('it is malformed or cut off', error);
  }
  switch (error.code) {
    case 'LIMIT_FILE_SIZE':
      return new AppError('payload_too_large', 413, `the file is larger than ${maxBytes} bytes`);
    case 'LIMIT_UNEXPECTED_FILE':
    case 'LIMIT_FILE_COUNT':
    case 'LIMIT_PART_COUNT':
      return invalid(`one file, and no other field: ${useForm(field)}`, error);
    default:
      return invalid(`a field that is no file: ${useForm(field)}, with a filename`, error);
  }
}
