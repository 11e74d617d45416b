// The AWS SDK for JavaScript, version 3, with its defaults: node aws_sdk.mjs ENDPOINT LARGE_FILE
import * as S3 from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { createPresignedPost } from "@aws-sdk/s3-presigned-post";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import fs from "node:fs";
import { check, equal, fetched } from "./checks.mjs";

const [endpoint, large] = process.argv.slice(2);
const credentials = { accessKeyId: process.env.ACCESS, secretAccessKey: process.env.SECRET };
const client = new S3.S3Client({ endpoint, region: "cn-north-4", forcePathStyle: true, maxAttempts: 1, credentials });
const Bucket = "aws-sdk-v3";
const send = (command, more = {}) => client.send(new S3[`${command}Command`]({ Bucket, ...more }));
const text = async (more) => (await send("GetObject", more)).Body.transformToString();
const odd = "文/a b+&.txt";

await check("create bucket", () => send("CreateBucket"));
await check("head bucket", () => send("HeadBucket"));
await check("list buckets", async () => equal((await send("ListBuckets")).Buckets.some((each) => each.Name === Bucket), true));
await check("bucket location", () => send("GetBucketLocation"));
await check("put with metadata, tags and a class", () =>
  send("PutObject", { Key: odd, Body: "hi", Metadata: { run: "7" }, Tagging: "a=b", StorageClass: "STANDARD_IA" }));
await check("get", async () => equal(await text({ Key: odd }), "hi"));
await check("head", async () => equal((await send("HeadObject", { Key: odd })).Metadata, { run: "7" }));
for (const ChecksumAlgorithm of ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
  await check(`put with ${ChecksumAlgorithm}`, () => send("PutObject", { Key: "sum", Body: "hello", ChecksumAlgorithm }));
await check("put a stream", () => send("PutObject", { Key: "stream", Body: fs.createReadStream(large) }));
await check("get a range", async () => equal(await text({ Key: "sum", Range: "bytes=1-2" }), "el"));
await check("get with checksums", async () => equal(await text({ Key: "sum", ChecksumMode: "ENABLED" }), "hello"));
await check("get if it matches", async () =>
  equal(await text({ Key: "sum", IfMatch: (await send("HeadObject", { Key: "sum" })).ETag }), "hello"));
await check("upload in parts", () =>
  new Upload({ client, params: { Bucket, Key: "large", Body: fs.createReadStream(large) }, partSize: 5 << 20 }).done());
await check("copy in parts", async () => {
  const { UploadId } = await send("CreateMultipartUpload", { Key: "parts" });
  const part = { Key: "parts", UploadId, PartNumber: 1, CopySource: `${Bucket}/large` };
  const { ETag } = (await send("UploadPartCopy", part)).CopyPartResult;
  equal((await send("ListParts", { Key: "parts", UploadId })).Parts.length, 1);
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
  await send("CompleteMultipartUpload", { Key: "parts", UploadId, MultipartUpload });
  equal((await send("HeadObject", { Key: "parts" })).ContentLength, fs.statSync(large).size);
});
await check("abort an upload", async () => {
  const { UploadId } = await send("CreateMultipartUpload", { Key: "none" });
  equal((await send("ListMultipartUploads")).Uploads.length, 1);
  await send("AbortMultipartUpload", { Key: "none", UploadId });
});
await check("copy", () => send("CopyObject", { Key: "copy", CopySource: `${Bucket}/sum` }));
await check("list, version 2", async () =>
  equal((await send("ListObjectsV2", { Delimiter: "/" })).CommonPrefixes, [{ Prefix: "文/" }]));
await check("list, version 1", async () => equal((await send("ListObjects", { MaxKeys: 2 })).Contents.length, 2));
await check("tags", async () => {
  await send("PutObjectTagging", { Key: "copy", Tagging: { TagSet: [{ Key: "x", Value: "y" }] } });
  equal((await send("GetObjectTagging", { Key: "copy" })).TagSet, [{ Key: "x", Value: "y" }]);
  await send("DeleteObjectTagging", { Key: "copy" });
});
await check("access of an object", async () => {
  await send("PutObjectAcl", { Key: "copy", ACL: "public-read" });
  equal((await send("GetObjectAcl", { Key: "copy" })).Grants.length, 2);
});
await check("access of a bucket", async () => equal((await send("GetBucketAcl")).Grants.length, 1));
await check("lifecycle", async () => {
  const rule = { ID: "a", Status: "Enabled", Filter: { Prefix: "t/" }, Expiration: { Days: 3 } };
  await send("PutBucketLifecycleConfiguration", { LifecycleConfiguration: { Rules: [rule] } });
  equal((await send("GetBucketLifecycleConfiguration")).Rules[0].Expiration, { Days: 3 });
  await send("DeleteBucketLifecycle");
});
await check("signed URL to get", async () =>
  equal(await fetched(await getSignedUrl(client, new S3.GetObjectCommand({ Bucket, Key: odd }))), "hi"));
await check("signed URL to put", async () => {
  await fetched(await getSignedUrl(client, new S3.PutObjectCommand({ Bucket, Key: "up" })), { method: "PUT", body: "up" });
  equal(await text({ Key: "up" }), "up");
});
await check("form", async () => {
  const { url, fields } = await createPresignedPost(client, { Bucket, Key: "form" });
  const form = new FormData();
  Object.entries({ ...fields }).forEach(([name, value]) => form.append(name, value));
  form.append("file", new Blob(["of a form"]));
  await fetched(url, { method: "POST", body: form }, 204);
  equal(await text({ Key: "form" }), "of a form");
});
await check("versioning", async () => {
  await send("PutBucketVersioning", { VersioningConfiguration: { Status: "Enabled" } });
  const { VersionId } = await send("PutObject", { Key: "v", Body: "one" });
  await send("PutObject", { Key: "v", Body: "two" });
  equal(await text({ Key: "v", VersionId }), "one");
  equal((await send("DeleteObject", { Key: "v" })).DeleteMarker, true);
  const listed = await send("ListObjectVersions", { Prefix: "v" });
  equal([listed.Versions.length, listed.DeleteMarkers.length], [2, 1]);
});
await check("condition on a put", () => send("PutObject", { Key: "new", Body: "x", IfNoneMatch: "*" }));
await check("encryption", () => send("PutObject", { Key: "e", Body: "x", ServerSideEncryption: "AES256" }));
await check("attributes", () => send("GetObjectAttributes", { Key: "sum", ObjectAttributes: ["ETag"] }));
for (const name of ["Policy", "Cors", "Encryption", "Website", "Logging", "Tagging", "Replication", "OwnershipControls"])
  await check(name, () => send(`GetBucket${name}`));
await check("delete many, then the bucket", async () => {
  const listed = await send("ListObjectVersions");
  const Objects = [...listed.Versions, ...listed.DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }));
  equal((await send("DeleteObjects", { Delete: { Objects } })).Errors, undefined);
  await send("DeleteBucket");
});
