echo "using kernel $KERNEL" >&2
echo "{\"tg\": $SPEED}"
