/** A KMS plugin that does not do what it is asked now. It may do so later. */
export class KmsFailure extends Error {
  override name = "KmsFailure";
  /** gRPC's name of why, such as Unavailable. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}
