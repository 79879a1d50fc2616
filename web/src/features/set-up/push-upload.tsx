import { type FormEvent, useState } from 'react';
import { ErrorPanel } from '../../api/error-panel';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { FileField } from '../../ui/file-field';
import { useUploadPushCertificate } from './queries';

const words = setUpText.push;

export function PushUpload() {
  const [file, setFile] = useState<File>();
  const upload = useUploadPushCertificate();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file !== undefined) upload.mutate(file);
  };
  return (
    <form className="set-up-part" onSubmit={submit}>
      <h3>{words.second}</h3>
      <p>
        {words.page}{' '}
        <a href={words.url} target="_blank" rel="noreferrer">
          {words.url}
        </a>
      </p>
      <FileField
        label={words.file}
        accept=".pem,.cer,.crt"
        hint={words.fileHint}
        onChange={setFile}
      />
      {upload.error !== null && <ErrorPanel error={upload.error} />}
      <div>
        <Button
          kind="main"
          type="submit"
          isDisabled={file === undefined}
          isPending={upload.isPending}
        >
          {words.upload}
        </Button>
      </div>
      <p role="status">{upload.isSuccess ? words.uploaded : ''}</p>
    </form>
  );
}
