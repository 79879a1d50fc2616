/** The part of the package that the command line uses; its published types say `any`. */
declare module 'jsonapi-serializer' {
  interface DeserializerOptions {
    keyForAttribute(name: string): string;
  }

  class Deserializer {
    constructor(options: DeserializerOptions);
    /** Resources as flat objects, with what the document includes in place of the links to it. */
    deserialize(document: object): Promise<unknown>;
  }

  const jsonapiSerializer: { Deserializer: typeof Deserializer };
  export default jsonapiSerializer;
}
