import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { onlyFault } from '../../api/form-faults';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { FileField } from '../../ui/file-field';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { useUploadPushCertificate } from './queries';

const words = setUpText.push;

export function PushUpload({ onDone }: { onDone: () => void }) {
  const [file, setFile] = useState<File>();
  const upload = useUploadPushCertificate();
  const form = useFaultFocus(upload.error);
  const fault = onlyFault(upload.error, 'pem_certificate');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file !== undefined) upload.mutate(file, { onSuccess: onDone });
  };
  return (
    <form ref={form} className="set-up-part" onSubmit={submit}>
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
        error={fault}
      />
      {upload.error !== null && fault === undefined && <ActionError error={upload.error} />}
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
    </form>
  );
}
