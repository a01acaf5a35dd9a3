#!/bin/sh
# Runs Spark once, so that the image holds what its first start would have to make: an archive of the classes that
# a stream job loads, and the byte code of the Python modules that it imports.
set -eu
. /run/src/images/contents.env
export PATH="$UNDERSTUDY_HOME/bin:$PATH" JAVA_HOME=/opt/java SPARK_HOME="$UNDERSTUDY_HOME/spark" \
    PYSPARK_PYTHON="$UNDERSTUDY_HOME/bin/python" SPARK_LOCAL_IP=127.0.0.1
cd /tmp
python /run/src/images/steps/train.py "-XX:ArchiveClassesAtExit=$CLASS_ARCHIVE -Xlog:cds=error -Xlog:cds+dynamic=error"
chmod 644 "$CLASS_ARCHIVE"
# `on` makes it an error if a Java of this image, with Spark's class path, does not take the archive.
java -Xshare:on "-XX:SharedArchiveFile=$CLASS_ARCHIVE" -cp "$SPARK_HOME/conf:$SPARK_HOME/jars/*" -version
find /tmp /work -mindepth 1 -delete
